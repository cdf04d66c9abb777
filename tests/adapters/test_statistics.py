"""Of which columns a file keeps the lowest and the highest value: those that a sync, a check and most readers ask by, and no texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.delta.target_table import statistics
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode
from tests.adapters.batches import Desk, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = table("id bigint, note string, price decimal(12,2), paid boolean, day date, at bigint")
OURS = "`_sync_seq`,`_sync_at`"


def of(spec: TableSpec) -> str:
    return statistics(spec, ((found.name, found.spark_type) for found in spec.columns))


def test_key_and_cursor_come_first_then_our_own_then_days_and_whole_numbers() -> None:
    assert of(ORDERS) == f"`id`,`at`,{OURS},`day`"


@pytest.mark.parametrize(
    ("ddl", "key", "wanted"),
    [
        ("code string, at bigint", ["code"], f"`code`,`at`,{OURS}"),
        ("amount decimal(38,9), at bigint", ["amount"], f"`amount`,`at`,{OURS}"),
        ("yes boolean, raw binary, at bigint", ["yes", "raw"], f"`at`,{OURS}"),
        ("it`s a.b bigint, at bigint", ["it`s a.b"], f"`it``s a.b`,`at`,{OURS}"),
    ],
    ids=["text", "decimal", "nothing that Delta compares", "hostile"],
)
def test_a_key_counts_whatever_it_costs_if_delta_can_compare_it(ddl: str, key: list[str], wanted: str) -> None:
    assert of(table(ddl, key=key)) == wanted


def test_of_eight_hundred_columns_as_many_as_delta_would_take() -> None:
    wide = table(", ".join(["id bigint", *(f"n{number} int" for number in range(800)), "at bigint"]))
    assert of(wide).split(",")[:5] == ["`id`", "`at`", "`_sync_seq`", "`_sync_at`", "`n0`"]
    assert len(of(wide).split(",")) == 32


# --- on real Delta ------------------------------------------------------------------------------------


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(tmp_path / "lake", spark)


def newest(desk: Desk, spec: TableSpec) -> dict[str, Any]:
    """What the last file that was added says of itself."""
    commits = sorted((Path(desk.path(spec)) / "_delta_log").glob("*.json"), reverse=True)
    lines = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
    return next(json.loads(line["add"]["stats"]) for line in lines if "add" in line)


def test_a_file_says_how_many_rows_it_has_and_what_lies_in_it(desk: Desk) -> None:
    spec = table("it`s a.b bigint, note string, at bigint", key=["it`s a.b"])
    desk.land(spec, [(7, "a", 10)])
    found = newest(desk, spec)
    assert found["numRecords"] == 1
    # Under names that Delta makes up, as these are too awkward; the third is the sequence.
    for side in ("minValues", "maxValues"):
        assert {value for value in found[side].values() if isinstance(value, int)} == {7, 10, 1}
        assert "a" not in found[side].values()


@pytest.mark.acceptance
@pytest.mark.parametrize("strategy", [Strategy.FULL_REFRESH, Strategy.UPSERT])
def test_a_column_that_an_overwrite_takes_away_or_retypes_takes_its_statistics_along(
    desk: Desk, strategy: Strategy
) -> None:
    cursor = "" if strategy is Strategy.FULL_REFRESH else "at"
    before = table("id bigint, gone int, flag int, at bigint", strategy, cursor=cursor)
    after = table("id bigint, flag boolean, new int, at bigint", strategy, cursor=cursor)
    desk.land(before, [(1, 7, 0, 10)])
    assert sorted(newest(desk, before)["minValues"]) == ["_sync_at", "_sync_seq", "at", "flag", "gone", "id"]
    desk.land(after, [(1, True, 5, 20)], mode=Mode.FULL_REFRESH)
    assert desk.rows(after) == [(1, True, 5, 20)]
    assert sorted(newest(desk, after)["minValues"]) == ["_sync_at", "_sync_seq", "at", "id"]


@pytest.mark.acceptance
def test_what_somebody_has_set_stays(desk: Desk) -> None:
    # Of three rows, so that the fourth is not most of the table, which would be rewritten.
    desk.land(ORDERS, [(number, "a", None, True, None, 10) for number in (1, 3, 4)])
    desk.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'id,note')", ORDERS)
    desk.land(ORDERS, [(2, "b", None, True, None, 20)])
    assert newest(desk, ORDERS)["minValues"] == {"id": 2, "note": "b"}
