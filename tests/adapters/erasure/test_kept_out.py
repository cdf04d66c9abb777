"""A key that was erased stays out of the copy whatever brings its row: the source still has it, and no check misses it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.checks.differing_rows import differing_rows
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.erased import ErasedKeys, ErasureKey
from incremental_assets.core.model.paths import erased_path
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.plan import Mode
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.erasure.erasing import SECRET
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CURSOR = "cursor: {column: at, type: timestamp}"
TABLES = {
    "upsert": f"{{table: public.people, {CURSOR}, strategy: upsert, history: scd2}}",
    "append": f"{{table: public.people, {CURSOR}, strategy: append}}",
    "whole": "{table: public.people, strategy: full_refresh, refresh_every: 1s}",
    "compared": "{table: public.people, strategy: upsert, compare: {every: 1s}}",
}


def erase(shop: Shop, *keys: int, secret: str = SECRET) -> None:
    """The list that an erasure leaves in the lake."""
    with Stand.runtime(Stand(shop, None)) as runtime:  # type: ignore[arg-type]
        path = Path(erased_path(runtime.configuration.lake, runtime.configuration.sources[0].tables[0].id("shop")))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ErasedKeys(ErasureKey(secret), frozenset()).with_keys([str(key)] for key in keys).to_json())


def opened(postgres: EmbeddedPostgres, database: str, folder: Path, spark: SparkSession, table: str) -> Stand:
    shop = Shop.open(postgres, database, folder, f"\n- {TABLES[table]}\n", options="unlisted: ignore")
    shop.config.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{shop.config.read_text()}")
    stand = Stand(shop, spark)
    stand.execute(
        "CREATE TABLE people (id int PRIMARY KEY, name text, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO people SELECT n, 'person ' || n, '2024-01-31 10:00:00Z' FROM generate_series(1, 9) n",
    )
    return stand


@pytest.fixture(
    params=[pytest.param(each, marks=[] if each == "upsert" else pytest.mark.acceptance) for each in TABLES]
)
def desk(
    request: pytest.FixtureRequest, postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> Stand:  # fmt: skip
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    monkeypatch.setenv("ERASURE_KEY", SECRET)
    return opened(postgres, database, tmp_path, spark, request.param)


def ids(desk: Stand) -> list[int]:
    return sorted({row[0] for row in desk.copy("people", "id")})


def test_no_path_brings_an_erased_key_back_and_no_check_misses_it(desk: Stand) -> None:
    erase(desk.shop, 4, 6)
    everyone_else = [1, 2, 3, 5, 7, 8, 9]
    desk.land()
    assert ids(desk) == everyone_else

    desk.execute("UPDATE people SET name = name || '!', at = clock_timestamp() WHERE id IN (4, 5)")
    desk.land()
    desk.land(mode=Mode.FULL_REFRESH)
    assert ids(desk) == everyone_else

    found = {each.check: each for each in desk.verdicts("people")}[Check.RECONCILIATION]
    assert found.passed, found.detail
    assert "append" in desk.shop.config.read_text() or "erased from the copy" in found.detail
    assert desk.check("people") == 0
    with desk.runtime() as runtime:
        spec, source = desk.spec("people"), runtime.configuration.sources[0]
        assert differing_rows(spec, terms_of(source, spec.id).partitions, 10, runtime.ports("shop")).rows == ()
    before = desk.versions("people")
    desk.land()
    if "compare: {every" in desk.shop.config.read_text():
        # What was erased is no difference, for which something would be read again and again.
        assert desk.versions("people") == before


def test_without_its_key_a_list_of_erased_keys_stops_the_table(desk: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    erase(desk.shop, 4)
    desk.shop.config.write_text(desk.shop.config.read_text().replace("erasure_key: {env: ERASURE_KEY}\n", ""))
    refused = desk.sync()["people"]
    assert "write `erasure_key: {env: …}` again" in str(refused.error)
    desk.shop.config.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{desk.shop.config.read_text()}")
    monkeypatch.setenv("ERASURE_KEY", SECRET[::-1])
    assert "was written with another key" in str(desk.sync()["people"].error)
    monkeypatch.setenv("ERASURE_KEY", SECRET)
    desk.land()
    assert 4 not in ids(desk)
