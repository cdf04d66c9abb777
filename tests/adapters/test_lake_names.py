"""Is every name and every value itself, or refused?"""

from __future__ import annotations

import math

import pytest

from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.errors import NameRefused
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import ORDERS, Desk, table
from tests.snapshots import as_read


@pytest.mark.acceptance
def test_a_key_that_is_called_as_a_variable_of_the_environment_is_itself(desk: Desk) -> None:
    """Spark would put the variable's value in its place in some statements and not in others, and then every row matches."""
    hostile = table("${env:HOME} bigint, at bigint", key=("${env:HOME}",))
    desk.land(hostile, [(1, 10)])
    assert desk.land(hostile, [(2, 20)]).rows == RowCounts(read=1, inserted=1)
    assert desk.rows(hostile) == [(1, 10), (2, 20)]
    assert [name for name, _ in desk.lake.columns(hostile)] == ["${env:HOME}", "at"]


@pytest.mark.acceptance
@pytest.mark.parametrize("enforced", [True, False], ids=["enforced", "declared"])
def test_columns_and_keys_that_are_called_as_aliases_are_themselves(desk: Desk, *, enforced: bool) -> None:
    """Of `s.id`, Delta takes a column `s` before the frame that is called so."""
    others = ", ".join(f"{name} string" for name in ("b", "more", "texts"))
    spec = table(f"s bigint, t bigint, times bigint, {others}, at bigint", key=("s", "t", "times"), enforced=enforced)
    rest = ("x",) * 3
    # Many, so that the others are left where they lie, and Delta finds the one to be replaced.
    desk.land(spec, [(number, 1, -number, *rest, 10) for number in range(1, 9)])
    second = desk.land(spec, [(8, 1, -8, *rest, 21), (9, 1, -9, *rest, 30)])
    assert (second.rows.inserted, second.rows.updated) == (1, 1)
    assert desk.rows(spec) == [
        *((number, 1, -number, *rest, 10) for number in range(1, 8)),
        (8, 1, -8, *rest, 21),
        (9, 1, -9, *rest, 30),
    ]
    assert desk.lake.duplicates(spec).rows == 0


@pytest.mark.acceptance
def test_not_a_number_and_the_two_zeros_are_values_like_any_other(desk: Desk) -> None:
    spec = table("id bigint, x double, at bigint")
    desk.land(spec, [(1, math.nan, 10), (2, 0.0, 10), (3, None, 10)])
    commit = desk.land(spec, [(1, math.nan, 10), (2, -0.0, 10), (3, None, 10)])
    assert commit.rows == RowCounts(read=3, updated=1, unchanged=2)
    assert math.copysign(1, desk.rows(spec)[1][1]) == -1


@pytest.mark.acceptance
def test_any_name_that_a_source_takes_is_a_column(desk: Desk) -> None:
    spec = table(
        "a b bigint, select string, ünïcode string, x.y string, q`t string, semi;{}()=' bigint",
        key=("a b", "x.y"),
        cursor="semi;{}()='",
    )
    desk.land(spec, [(1, "s", "ü", "p", "t", 1), (2, "s", "ü", "p", "t", 2)])
    desk.land(spec, [(2, "S", "ü", "p", "t", 3), (3, None, None, "q", None, 3)])
    assert desk.rows(spec) == [(1, "s", "ü", "p", "t", 1), (2, "S", "ü", "p", "t", 3), (3, None, None, "q", None, 3)]


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ("id bigint, Note string, note string, at bigint", "differ by case alone"),
        ("id bigint, _sync_x string, at bigint", "begins with `_sync_`"),
    ],
)
def test_columns_that_delta_cannot_hold_are_refused_by_name(desk: Desk, ddl: str, message: str) -> None:
    spec = table(ddl)
    plan = desk.plan(spec)
    with pytest.raises(NameRefused, match=message):
        desk.lake.apply(
            plan,
            desk.stage.write(desk.plan(ORDERS), desk.show(ORDERS, [(1, "a", 1)])),
            landed_state(plan, as_read(1, None, None)),
        )
    assert desk.lake.inspect(spec, None) is None


def test_a_lake_whose_path_no_reader_of_logs_understands_is_refused() -> None:
    with pytest.raises(NameRefused, match="`%`"):
        DeltaLake("/tmp/100%25", lambda: pytest.fail("Spark"))
