"""What a check says of rows that are gone from the source and not from the copy."""

from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.model.table import TableSpec
from tests.core.deletes import DAILY, EACH, ten
from tests.scenario import ORDERS, orders


def undeleted(spec: TableSpec) -> Drift:
    """Of ten orders that have landed and settled, two are gone since."""
    world = ten()
    world.database.tick(600)
    world.sync(spec)
    world.database.tick(600)
    world.sync(spec)
    world.database.delete(ORDERS, {"id": 3})
    world.database.delete(ORDERS, {"id": 5})
    return reconcile(spec, None, world.ports())


def test_a_row_that_was_not_deleted_is_drift_where_deletes_are_followed_with_each_sync() -> None:
    found = undeleted(EACH)
    assert (found.rows, found.samples, found.is_expected) == (2, ("3", "5"), False)
    assert found.detail == "2 rows of the copy were deleted in the source; the next sync finds them"


def test_before_a_comparison_is_due_it_is_drift_that_only_warns() -> None:
    found = undeleted(DAILY)
    assert (found.rows, found.samples, found.is_expected) == (2, ("3", "5"), True)
    assert found.detail.startswith(
        "2 rows of the copy were deleted in the source; the comparison of keys that is due at 2024-01-30 "
    )


def test_where_deletes_are_ignored_it_is_none() -> None:
    assert undeleted(orders()).rows == 0


def test_beside_a_row_that_differs_the_deleted_ones_are_counted_and_named_too() -> None:
    world = ten()
    for _ in range(2):
        world.database.tick(600)
        world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.database.update(ORDERS, {"id": 7}, status="changed without a stamp")

    found = reconcile(EACH, None, world.ports())

    assert (found.rows, found.samples) == (2, ("7", "3"))
    assert found.detail.startswith("1 row of the source is missing in the lake or different there, in ")
    assert found.detail.endswith("; 1 row of the copy was deleted in the source; the next sync finds it")
