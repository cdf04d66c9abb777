"""What a person sees in Dagster is what the tables say: partitions, numbers and checks over GraphQL against SQL on both sides.

What agreement means for the partitions of an incremental table:

* a materialized partition is covered by the ledger as far as the source had settled; what lies above is there, but provisional,
  and in the ledger only when a later sync finds it settled (so today is green, and covered up to a few seconds ago);
* just those partitions are materialized that a landed window reaches, from the table's first row on: the ledger also covers what
  lies below the first row or below the grid, where there is nothing to show;
* a partition that is not materialized holds no row of the copy, and one that is holds each row of the source that lies in it.

A table that is read whole has no coverage: its one partition is materialized as soon as it has landed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets import load
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.resources.runtime import Runtime
from tests.e2e.in_process import Asset, Dagster, dagster
from tests.e2e.mixed import Kind, Sides, Span, Value, fill, kinds, now_utc, options, tables
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

KINDS = kinds(now_utc())
INCREMENTAL = [name for name, kind in KINDS.items() if kind.cursor]
MOVED = {"upsert_timestamp", "append_integer", "upsert_date", "from_yesterday"}
"""Those that change between the two syncs."""
DOCTORED = {
    "upsert_timestamp": (1, 0),
    "append_datetime": (1, 0),
    "upsert_date": (1, 0),
    "upsert_integer": (0, 1),
    "upsert_datetime": (0, 0),
}
"""Rows that the copy then lacks or holds differently, and keys that it holds twice; the last one is left as it is."""


@dataclass(frozen=True)
class Facts:
    """One table at one moment, from both ends."""

    kind: Kind
    asset: Asset
    coverage: list[Span]
    landed: list[Span]
    lowest: Value | None
    highest: Value | None
    watermark: Value | None
    source: list[Value]
    copy: list[Value]

    def spans(self) -> dict[str, Span]:
        return {key: self.kind.span(key) for key in self.asset.keys}


@dataclass(frozen=True)
class Story:
    """What was seen at each station."""

    sides: Sides
    first: dict[str, Facts]
    second: dict[str, Facts]
    backfilled: dict[str, Facts]
    chosen: Mapping[str, tuple[str, ...]]
    """The partitions that were ticked in the backfill's dialog."""
    runs: list[dict[str, Any]]
    unasked: dict[str, dict[str, Any]]
    """Results of checks after the two syncs, when nobody had run one."""
    healthy: dict[str, dict[str, Any]]
    doctored: dict[str, dict[str, Any]]
    counts: dict[str, tuple[int, int]]
    """What SQL says of the doctored copies: rows lacking, keys doubled."""


@pytest.fixture(scope="module")
def story(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Story]:
    """Two syncs by the sensor, a backfill, the checks; then the copies are doctored, and the checks run again."""
    postgres.create_database("mixed")
    now = now_utc()
    shop = Shop.open(postgres, "mixed", tmp_path_factory.mktemp("mixed"), tables(now), options=options(now))
    fill(shop)
    sides = Sides(shop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INCREMENTAL_ASSETS_CONFIG", str(shop.config))
        patch.setenv("SHOP_PASSWORD", PASSWORD)
        with closing(Runtime(load(shop.config))) as seen:
            seen.specs("shop")  # the catalogue, without which `heap`, which is not listed, would not be known
        with dagster() as there:
            there.tick()
            first = {name: facts(there, sides, name) for name in KINDS}
            before = len(there.runs())
            change(shop)
            there.tick()
            runs = there.runs()[:-before]
            second = {name: facts(there, sides, name) for name in KINDS}
            unasked = {name: there.checks(name) for name in KINDS}
            chosen = choose(second)
            there.backfill(chosen)
            backfilled = {name: facts(there, sides, name) for name in KINDS}
            there.launch("check__shop__job")
            healthy = {name: there.checks(name) for name in KINDS}
            doctor(shop, spark)
            there.launch("check__shop__job", checks=[(name, check) for name in DOCTORED for check in healthy[name]])
            doctored = {name: there.checks(name) for name in DOCTORED}
            counts = {name: counted(sides, backfilled[name]) for name in DOCTORED}
            yield Story(sides, first, second, backfilled, chosen, runs, unasked, healthy, doctored, counts)


def facts(there: Dagster, sides: Sides, name: str) -> Facts:
    kind = KINDS[name]
    if not kind.cursor:
        return Facts(kind, there.asset(name), sides.coverage(kind), [], None, None, None, [], [])
    values = f"SELECT {kind.cursor} FROM {name}"
    return Facts(
        kind,
        there.asset(name),
        sides.coverage(kind),
        sides.landed(kind),
        sides.lowest(kind),
        sides.highest(kind),
        sides.watermark(kind),
        sides.moments(sides.source(values)),
        sides.moments(sides.copy(name, values)),
    )


def change(shop: Shop) -> None:
    """Some tables move, and one of numbers by more than a partition."""
    shop.execute(
        "UPDATE upsert_timestamp SET note = 'again', at = now() WHERE id IN (4, 5, 6)",
        "INSERT INTO append_integer VALUES (301, 'new'), (505, 'new')",
        "INSERT INTO upsert_date VALUES (61, 'new', (now() AT TIME ZONE 'UTC')::date)",
        "INSERT INTO from_yesterday VALUES (61, 'new', now())",
    )


def choose(now: Mapping[str, Facts]) -> dict[str, tuple[str, ...]]:
    """Partitions with a gap between them; of `from_yesterday` some below its `start`, which no sync has ever asked for."""
    days, hours = now["upsert_timestamp"].asset.keys, now["from_yesterday"].asset.keys
    return {
        "upsert_timestamp": (days[-5], days[-4], days[-2]),
        "append_date": (days[-3],),
        "from_yesterday": (hours[0], hours[6], hours[7]),
        "append_integer": (now["append_integer"].asset.keys[1],),
        "whole": ("current",),
    }


def doctor(shop: Shop, spark: SparkSession) -> None:
    """Another hand: one row is deleted, one changed, one key doubled."""
    place = {name: f"delta.`{shop.lake(name)}`" for name in KINDS}
    spark.sql(f"DELETE FROM {place['upsert_timestamp']} WHERE id = 7")
    spark.sql(f"DELETE FROM {place['append_datetime']} WHERE id = 9")
    spark.sql(f"UPDATE {place['upsert_date']} SET note = 'forged' WHERE id = 8")
    spark.sql(f"INSERT INTO {place['upsert_integer']} SELECT * FROM {place['upsert_integer']} WHERE id = 5")


def counted(sides: Sides, now: Facts) -> tuple[int, int]:
    kind = now.kind
    return sides.lacking(kind, now.watermark), sides.doubled(kind.name) if kind.key else 0


# --- partitions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("station", ["first", "second", "backfilled"])
@pytest.mark.parametrize("name", INCREMENTAL)
def test_the_partition_bar_agrees_with_the_ledger_and_with_the_rows(story: Story, station: str, name: str) -> None:
    now: Facts = getattr(story, station)[name]
    spans, side = now.spans(), int(now.kind.is_integer)
    settled = max((each.upper for each in now.coverage), default=None)
    for key in now.asset.materialized:
        below = Span(spans[key].lower, spans[key].upper if settled is None else min(spans[key].upper, settled))
        assert settled is None or below.within(now.coverage), (key, now.coverage)

    assert now.lowest is not None
    assert now.highest is not None
    above = now.highest + 1 if isinstance(now.highest, int) else now.highest
    reached = [
        Span(max(each.lower, now.lowest), min(each.upper, above) if side else each.upper) if number == 0 else each
        for number, each in enumerate(now.landed)
    ]
    expected = {key for key, span in spans.items() if any(each.meets(span) for each in reached)}
    assert now.asset.materialized == expected
    assert now.asset.failed == frozenset()
    assert now.asset.stats == {"numMaterialized": len(expected), "numFailed": 0, "numPartitions": len(spans)}

    for key, span in spans.items():
        there, here = (sum(span.lower <= value < span.upper for value in values) for values in (now.source, now.copy))
        assert here == (there if key in now.asset.materialized else 0), (key, there, here)
        assert key in now.asset.materialized or not there or span.upper <= now.kind.start, (key, there)


@pytest.mark.parametrize("name", ["whole", "heap"])
def test_a_table_that_is_read_whole_is_one_partition_with_its_number_of_rows(story: Story, name: str) -> None:
    now = story.backfilled[name]
    assert (now.asset.keys, now.asset.materialized, now.coverage) == (("current",), {"current"}, [])
    assert [event["dagster/row_count"] for event in now.asset.events] == [60] * (2 if name == "whole" else 1)
    assert story.sides.counts(name) == (60, 60)


def test_rows_below_the_grid_are_in_the_copy_and_in_no_partition(story: Story) -> None:
    now = story.first["below_the_grid"]
    (key,) = now.asset.keys
    below = [value for value in now.copy if value < now.kind.span(key).lower]
    assert len(below) >= 50
    assert sorted(now.copy) == sorted(now.source)


def test_an_idle_table_announces_nothing_and_a_moved_one_only_what_it_touched(story: Story) -> None:
    assert {table for run in story.runs for table in run["tables"]} == MOVED
    for name in KINDS:
        gained = len(story.second[name].asset.events) - len(story.first[name].asset.events)
        # A day may have turned in between; 301 to 505 are three partitions of a hundred; what lies between an hour ago, the last
        # row, and now are two hours, or three where one has turned.
        moved = {"append_integer": {3}, "from_yesterday": {2, 3}}.get(name, {1, 2})
        assert gained in (moved if name in MOVED else {0}), (name, gained)


def test_the_syncs_of_the_sensor_bring_no_check_that_reads_whole_tables(story: Story) -> None:
    # The columns are told by the sync itself, which has just met them.
    assert {name: set(checks) - {"schema"} for name, checks in story.unasked.items()} == {name: set() for name in KINDS}


def test_a_backfill_covers_just_its_partitions_and_leaves_the_watermark(story: Story) -> None:
    for name in INCREMENTAL:
        before, after = story.second[name], story.backfilled[name]
        assert after.watermark == before.watermark, name
        chosen = story.chosen.get(name, ())
        assert all(after.kind.span(key).within(after.coverage) for key in chosen), (name, after.coverage)
        assert after.asset.materialized == before.asset.materialized | set(chosen), name
        if name != "from_yesterday":
            assert after.coverage == before.coverage, name
    gained = story.chosen["from_yesterday"]
    outside = set(story.backfilled["from_yesterday"].asset.keys[:24]) - set(gained)
    spans = story.backfilled["from_yesterday"].spans()
    assert not any(spans[key].meets(each) for key in outside for each in story.backfilled["from_yesterday"].coverage)


# --- numbers ----------------------------------------------------------------------------------------


def test_the_numbers_of_every_run_are_those_of_the_source(story: Story) -> None:
    for name in INCREMENTAL:
        # Dagster tells partitions of integers in no order, and only one has the totals.
        loaded = next(event for event in story.first[name].asset.events if "rows_read" in event)
        assert (loaded["mode"], loaded["rows_read"], loaded["rows_inserted"]) == (
            "sync",
            *2 * (len(story.first[name].copy),),
        ), name
    for name, chosen in story.chosen.items():
        now = story.backfilled[name]
        events = [event for event in now.asset.events if event["mode"] == "backfill"]
        assert {event["partition"] for event in events} == set(chosen), name
        for run in {event["run"] for event in events} if now.kind.cursor else ():
            (read,) = {event["rows_read"] for event in events if event["run"] == run and "rows_read" in event}
            spans = [now.kind.span(event["partition"]) for event in events if event["run"] == run]
            assert read == sum(span.lower <= value < span.upper for value in now.source for span in spans), name


# --- checks -----------------------------------------------------------------------------------------


def test_the_checks_of_a_healthy_copy_pass_with_the_counts_of_sql(story: Story) -> None:
    for name, checks in story.healthy.items():
        assert {"reconciliation", "schema"} <= set(checks), name
        assert all(check["success"] for check in checks.values()), checks
        assert checks["reconciliation"]["rows_differing"] == 0, name
        assert ("duplicates" in checks) == (KINDS[name].key or name == "heap"), name


def test_the_checks_of_a_doctored_copy_fail_with_the_counts_of_sql_and_name_the_place(story: Story) -> None:
    assert story.counts == DOCTORED
    for name, checks in story.doctored.items():
        lacking, doubled = story.counts[name]
        found = checks["reconciliation"]
        untouched = (lacking, doubled) == (0, 0)
        assert (found["rows_differing"], found["success"]) == (lacking, untouched), (name, found)
        assert found["success"] or found["severity"] == "ERROR", name
        if KINDS[name].key:
            assert (checks["duplicates"]["keys_repeated"], checks["duplicates"]["success"]) == (
                doubled,
                doubled == 0,
            ), name
    for name, row in (("upsert_timestamp", 7), ("upsert_date", 8), ("append_datetime", 9)):
        query = f"SELECT {KINDS[name].cursor} FROM {name} WHERE id = {row}"
        (at,) = story.sides.moments(story.sides.source(query))
        (key,) = (key for key, span in story.backfilled[name].spans().items() if span.lower <= at < span.upper)
        told = story.doctored[name]["reconciliation"]["drifted_windows"]
        assert told.count("[") == 1, told
        assert f"[{key}" in told, (key, told)
