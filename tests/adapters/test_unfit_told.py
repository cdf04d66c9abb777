"""Rows that cannot land are counted until they have landed in another version."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.quarantine import NONE_UNFIT
from incremental_assets.core.model.table import Strategy, TableSpec
from tests.adapters.batches import EVENTS, ORDERS, Desk, table


def unfit(desk: Desk, spec: TableSpec) -> int:
    found = desk.lake.unfit(spec)
    assert found is not None
    return found.rows


def test_where_every_row_landed_there_is_none(desk: Desk) -> None:
    assert desk.lake.unfit(ORDERS) == NONE_UNFIT
    desk.land(ORDERS, [(1, "a", 10)])
    assert desk.lake.unfit(ORDERS) == NONE_UNFIT


def test_a_row_that_cannot_land_counts_until_it_lands_in_another_version(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "bad", 11)], bad=["bad"])
    assert unfit(desk, ORDERS) == 1
    desk.land(ORDERS, [(3, "c", 12)])
    assert unfit(desk, ORDERS) == 1, "a sync that did not read it has not mended it"
    found = desk.lake.unfit(ORDERS)
    assert found is not None
    assert found.oldest is not None
    assert found.sentence.startswith("1 row of the source cannot land and is in quarantine since ")
    desk.land(ORDERS, [(2, "good", 13)])
    assert unfit(desk, ORDERS) == 0


def test_a_row_that_is_read_again_and_still_cannot_land_counts_once(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "bad", 10)], bad=["bad"])
    desk.land(ORDERS, [(1, "worse", 11)], bad=["worse"])
    assert unfit(desk, ORDERS) == 1


def test_a_landed_row_that_changes_to_what_cannot_land_counts(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 11)])
    desk.land(ORDERS, [(1, "bad", 12)], bad=["bad"])
    assert unfit(desk, ORDERS) == 1


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("string", "a", "b"),
        ("decimal(10,2)", Decimal("1.50"), Decimal("2.50")),
        ("date", date(2024, 1, 1), date(2024, 1, 2)),
    ],
)
def test_keys_of_other_types_are_found_in_the_copy_too(desk: Desk, kind: str, one: object, other: object) -> None:
    spec = table(f"id {kind}, note string, at bigint")
    desk.land(spec, [(one, "bad", 10), (other, "bad", 11)], bad=["bad"])
    assert unfit(desk, spec) == 2
    desk.land(spec, [(one, "good", 12)])
    assert unfit(desk, spec) == 1


def test_of_an_append_every_version_that_could_not_land_counts(desk: Desk) -> None:
    spec = replace(EVENTS, strategy=Strategy.APPEND)
    desk.land(spec, [(1, "bad", 10)], bad=["bad"])
    desk.land(spec, [(1, "good", 11)])
    assert unfit(desk, spec) == 1


def lost(desk: Desk, spec: TableSpec) -> list[tuple[object, object]]:
    """Key of each row of the quarantine, and what became of it."""
    return sorted((row["id"], row.get("_sync_resolution")) for row in desk.quarantined(spec))


@pytest.mark.acceptance
def test_a_row_that_is_gone_when_the_table_is_read_whole_counts_no_more(desk: Desk) -> None:
    spec = replace(ORDERS, strategy=Strategy.FULL_REFRESH, cursor=None)
    desk.land(spec, [(1, "bad", 10), (2, "worse", 11), (3, "c", 12)], bad=["bad", "worse"])
    desk.land(spec, [(2, "worse", 11), (3, "c", 12)], bad=["worse"])
    assert unfit(desk, spec) == 1
    assert lost(desk, spec) == [("1", "superseded"), ("2", None)]
    desk.land(spec, [(3, "c", 12)])
    assert unfit(desk, spec) == 0
    desk.land(spec, [(1, "bad", 10), (3, "c", 12)], bad=["bad"])
    assert unfit(desk, spec) == 1, "one that comes back is another one"


def test_rows_without_a_key_that_are_gone_when_the_table_is_read_whole_count_no_more(desk: Desk) -> None:
    spec = replace(EVENTS, strategy=Strategy.FULL_REFRESH, cursor=None)
    desk.land(spec, [(1, "bad", 10), (1, "bad", 10), (2, "b", 11)], bad=["bad"])
    assert unfit(desk, spec) == 2
    desk.land(spec, [(2, "b", 11)])
    assert unfit(desk, spec) == 0


@pytest.mark.acceptance
@pytest.mark.parametrize(("kind", "one", "other"), [("bigint", 1, 2), ("string", "a", "b")])
@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
def test_a_row_that_the_source_has_no_more_counts_no_more(
    desk: Desk, kind: str, one: object, other: object, strategy: Strategy
) -> None:
    spec = table(f"id {kind}, note string, at bigint", strategy)
    desk.land(spec, [(one, "bad", 10), (other, "bad", 11)], bad=["bad"])
    texts = sorted(desk.lake.waiting_keys(spec))
    assert texts == (["1", "2"] if kind == "bigint" else ["1:a", "1:b"])
    desk.lake.settle_gone(spec, {texts[0]})
    assert unfit(desk, spec) == 1
    assert lost(desk, spec) == [(str(one), "gone"), (str(other), None)]
    assert desk.lake.waiting_keys(spec) == {texts[1]}
    desk.land(spec, [(one, "bad", 10)], bad=["bad"])
    assert unfit(desk, spec) == 2, "one that comes back is another one"


@pytest.mark.acceptance
def test_a_batch_that_says_of_such_a_row_that_it_is_gone_is_believed(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "bad", 10), (2, "bad", 11), (3, "c", 12)], bad=["bad"])
    desk.land(ORDERS, [(1, "gone", 13), (3, "cc", 14)], gone=["gone"])
    assert unfit(desk, ORDERS) == 1
    assert lost(desk, ORDERS) == [("1", "gone"), ("2", None)]


def test_of_a_key_that_may_be_written_otherwise_nothing_is_concluded(desk: Desk) -> None:
    spec = table("id string, day date, at bigint", key=("id",))
    bad = date(2024, 1, 1)
    desk.land(spec, [("\\x00", bad, 10), ("x'00'", bad, 11), ("a\N{REPLACEMENT CHARACTER}", bad, 12)], bad=[bad])
    of_days = table("day date, id string, at bigint", key=("day",))
    assert desk.lake.waiting_keys(spec) == frozenset()
    assert desk.lake.waiting_keys(of_days) == frozenset()
    assert unfit(desk, spec) == 3


@pytest.mark.acceptance
def test_a_quarantine_of_an_earlier_release_gets_the_columns_in_which_that_is_said(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "bad", 10), (2, "bad", 11)], bad=["bad"])
    path = quarantine_path(str(desk.folder), ORDERS.id)
    desk.spark.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
    )
    desk.spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMNS (_sync_resolved_at, _sync_resolution)")
    assert unfit(desk, ORDERS) == 2
    desk.lake.settle_gone(ORDERS, {"1"})
    assert unfit(desk, ORDERS) == 1
    assert lost(desk, ORDERS) == [("1", "gone"), ("2", None)]
