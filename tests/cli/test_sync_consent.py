"""What could lose rows is refused until it is meant."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import CONFIG, Call, Outside
from tests.scenario import COUNTRIES


def test_a_full_refresh_of_an_append_table_is_refused_by_name(call: Call, config: Path) -> None:
    config.write_text(CONFIG.replace("upsert", "append"))
    call("sync")

    refused = call("sync", "--full-refresh", "--json")
    meant = call("sync", "--full-refresh", "--yes", "--json")

    assert refused.code == 3
    assert "shop.public.orders" in refused.document["error"]["message"]
    assert meant.code == 0
    assert meant.tables["public.orders"]["mode"] == "full_refresh"


def test_a_full_refresh_of_a_table_that_was_append_when_it_landed_is_refused_as_well(call: Call, config: Path) -> None:
    """Its versions go as well, whatever the configuration calls it by now; the printed cure works as it is printed."""
    config.write_text(CONFIG.replace("upsert", "append"))
    call("sync")
    config.write_text(CONFIG)

    stopped = call("sync", "--json").tables["public.orders"]
    refused = call("sync", "--select", "shop.public.orders", "--full-refresh", "--json")

    assert "sync --select shop.public.orders --full-refresh --yes`" in stopped["error"]
    assert refused.code == 3
    assert call("sync", "--select", "shop.public.orders", "--full-refresh", "--yes", "--json").code == 0
    assert call("sync", "--select", "shop.public.orders", "--full-refresh", "--json").code == 0


def test_shrinking_must_be_meant(call: Call) -> None:
    assert call("sync", "--allow-shrink").code == 3


def test_an_emptied_source_is_refused_until_it_is_meant(call: Call, outside: Outside) -> None:
    database = outside.world.database
    for code in ("at", "be", "ch", "de"):
        database.insert(COUNTRIES, code=code, name=code.upper())
    call("sync")
    database.tick(2 * 86_400)
    for code in ("at", "be", "ch"):
        database.delete(COUNTRIES, {"code": code})

    refused = call("sync", "--json", "--select", "public.countries")
    meant = call("sync", "--json", "--select", "public.countries", "--allow-shrink", "--yes")

    assert refused.code == 3
    assert refused.tables["public.countries"]["status"] == "refused"
    assert "--allow-shrink" in refused.tables["public.countries"]["error"]
    assert meant.code == 0
