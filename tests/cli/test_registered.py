"""`plan` says under which name a copy will be known, `sync` and `status` what a data catalogue refused, and `doctor` whether it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.cli.findings.of_catalogues import of_catalogues
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import selected
from incremental_assets.core.model.registration import Described, DescribedColumn
from tests.cli.conftest import Call, Outside
from tests.fakes.registrar import FakeRegistrar

SILENT = (
    "the copy is complete, and could not be made known to Spark's catalogue as main.lake.public_orders: "
    "it did not answer; check the network; the next sync tries again"
)


@pytest.fixture
def registrar(synced: Outside, config: Path) -> FakeRegistrar:
    """The orders have landed on Monday, and are to be made known from now on."""
    config.write_text(config.read_text() + "        register: {spark: {database: main.lake}}\n")
    found = FakeRegistrar(lambda table: Described(f"/lake/{table}", (DescribedColumn("id", "bigint"),)))
    synced.world.registrar = found
    return found


def test_plan_says_where_the_copy_will_be_known(call: Call, registrar: FakeRegistrar) -> None:
    assert (
        "register: once it has landed, the copy is known to Spark's catalogue as main.lake.public_orders"
        in " ".join(call("plan").out.split())
    )
    entry = call("plan", "--json").tables["public.orders"]
    assert entry["register"] == [{"catalogue": "spark", "name": "main.lake.public_orders", "region": None}]
    assert registrar.asked == []


def test_a_sync_without_news_makes_it_known_and_status_has_the_name(call: Call, registrar: FakeRegistrar) -> None:
    assert call("sync").code == 0
    assert list(registrar.tables) == ["main.lake.public_orders"]
    (told,) = call("status", "--json").tables["public.orders"]["registered"]
    assert told.pop("at") is not None
    assert told == {
        "table": "public.orders",
        "catalogue": "spark",
        "place": "Spark's catalogue as main.lake.public_orders",
        "problem": None,
    }


def test_what_could_not_be_made_known_is_a_warning_of_the_run_and_of_status_until_it_is(
    call: Call, registrar: FakeRegistrar
) -> None:
    registrar.is_silent = True
    said = call("sync", "--json")
    assert (said.code, said.tables["public.orders"]["warnings"]) == (0, [SILENT])
    assert f"shop.public.orders: {SILENT}" in " ".join(call("status").out.split())
    registrar.is_silent = False
    assert call("sync", "--json").tables["public.orders"]["warnings"] == []
    assert "could not be made known" not in call("status").out


def findings(config: Path) -> list[tuple[str, str, str]]:
    with opened(configured(config)) as runtime:
        found = of_catalogues(runtime, selected(runtime, ()).specs)
        return [(each.subject, str(each.health), each.detail) for each in found]


def test_doctor_asks_each_catalogue_once_and_says_what_could_not_be_made_known(
    call: Call, registrar: FakeRegistrar, config: Path
) -> None:
    assert findings(config) == [("Spark's catalogue", "ok", "has the database main.lake, for 1 table")]
    registrar.is_silent = True
    call("sync")
    assert findings(config) == [
        ("shop.public.orders", "warn", SILENT),
        ("Spark's catalogue", "warn", "it did not answer; check the network"),
    ]
