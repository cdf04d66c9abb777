"""Rows that are gone from the source go from the copy, once a snapshot says so and never against a person's will."""

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.checks.reconcile import Drift, reconcile
from incremental_assets.core.errors import Refused, SourceExchanged
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes, KeysCompared, Then
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.syncing.first_load import WORTH_IT
from incremental_assets.core.syncing.reset import reset_table
from tests.fakes import World, ordered
from tests.fakes.rows import is_live
from tests.scenario import MONDAY, ORDERS, order, orders, shop

DIFF = Deletes(DeleteMode.DIFF, every=timedelta())
EACH = orders(deletes=DIFF)
DAILY = orders(deletes=replace(DIFF, every=timedelta(days=1)))


def ten() -> World:
    """Ten orders, a minute apart, that have landed."""
    world = World(shop())
    for number in range(1, 11):
        order(world.database, f"customer {number}", world.database.stamp(), number=number)
        world.database.tick(60)
    return world


def numbers(world: World) -> list[object]:
    return sorted(row["id"] for row in world.rows(ORDERS))  # type: ignore[type-var]


def test_a_row_that_is_gone_goes_with_the_next_sync_though_nothing_else_moved() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    report = world.sync(EACH)
    assert (report.status, report.rows.deleted) == (Status.LANDED, 1)
    assert numbers(world) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert world.sync(EACH).rows == RowCounts()


def test_what_is_gone_lands_in_the_commit_of_what_came() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.database.update(ORDERS, {"id": 4}, status="paid", updated_at=world.database.stamp())
    order(world.database, "new", world.database.stamp(), number=11)
    commits = len(world.lake.tables[ORDERS].log)
    report = world.sync(EACH)
    assert (report.rows.inserted, report.rows.updated, report.rows.deleted) == (1, 1, 1)
    assert len(world.lake.tables[ORDERS].log) == commits + 1
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_a_table_that_ignores_deletes_keeps_what_is_gone_and_stands_still() -> None:
    world, spec = ten(), orders()
    world.sync(spec)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(86_400 * 3)
    assert world.sync(spec).status is Status.IDLE
    assert len(numbers(world)) == 10


def test_keys_are_compared_when_the_interval_is_over_and_not_before() -> None:
    world = ten()
    world.sync(DAILY)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(86_400 - 1200)
    assert world.sync(DAILY).status is Status.IDLE
    order(world.database, "new", world.database.stamp(), number=11)
    assert world.sync(DAILY).rows.deleted == 0
    world.database.tick(1200)
    assert world.sync(DAILY).rows.deleted == 1
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert state.compared == KeysCompared(world.database.clock, ((1, 1),))
    assert type(state).from_json(state.to_json()) == state


def test_a_clock_that_was_put_back_does_not_keep_keys_from_being_compared() -> None:
    world = ten()
    world.sync(DAILY)
    world.database.delete(ORDERS, {"id": 3})
    world.database.clock = MONDAY - timedelta(days=30)
    assert world.sync(DAILY).rows.deleted == 1


def test_a_row_that_moved_to_another_key_leaves_no_old_one() -> None:
    world = ten()
    world.sync(EACH)
    world.database.update(ORDERS, {"id": 3}, id=77, updated_at=world.database.stamp())
    report = world.sync(EACH)
    assert (report.rows.inserted, report.rows.deleted) == (1, 1)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_a_key_that_comes_back_lives_again() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.sync(EACH)
    order(world.database, "again", world.database.stamp(), number=3)
    world.sync(EACH)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_no_backfill_and_no_reset_raises_the_dead() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.sync(EACH)
    whole = Window(
        CursorValue.parse(CursorType.TIMESTAMP, "2024-01-29T00:00:00Z"),
        CursorValue.parse(CursorType.TIMESTAMP, "2024-01-30T00:00:00Z"),
    )
    world.backfill(EACH, whole)
    assert 3 not in numbers(world)
    reset_table(spec=EACH, to=None, run_id="reset", checkpoints=world.checkpoints)
    world.sync(EACH)
    assert numbers(world) == [1, 2, 4, 5, 6, 7, 8, 9, 10]


def test_a_backfill_compares_no_keys_and_leaves_the_turn_to_the_next_sync() -> None:
    world = ten()
    world.sync(DAILY)
    before = world.checkpoints.position(ORDERS).state
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(86_400)
    day = Window(CursorValue.parse(CursorType.TIMESTAMP, "2024-01-29T00:00:00Z"), None)
    assert world.backfill(DAILY, day).rows.deleted == 0
    after = world.checkpoints.position(ORDERS).state
    assert before is not None
    assert after is not None
    assert after.compared == before.compared
    assert world.sync(DAILY).rows.deleted == 1


def test_what_a_sync_does_not_read_is_not_gone() -> None:
    """Rows below `start`, rows that lost their cursor's place, rows that cannot land: their keys are in the source."""
    world = ten()
    world.sync(EACH)
    world.database.update(ORDERS, {"id": 2}, updated_at="2023-01-01T00:00:00Z")
    late = replace(EACH, start=CursorValue.parse(CursorType.TIMESTAMP, "2024-01-29T09:05:00Z"))
    world.database.tick(600)
    assert world.sync(late).rows.deleted == 0
    assert len(numbers(world)) == 10


def test_after_a_full_refresh_it_is_not_the_turn_of_a_comparison() -> None:
    world = ten()
    world.sync(DAILY)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(86_400)
    world.sync(DAILY, mode=Mode.FULL_REFRESH)
    world.database.tick(600)
    world.sync(DAILY)
    assert world.sync(DAILY).status is Status.IDLE
    assert len(numbers(world)) == 9


def test_keys_are_compared_although_all_that_is_new_is_held_back() -> None:
    world, spec = ten(), orders(holdback=timedelta(hours=1), deletes=DIFF)
    world.database.tick(7200)
    world.sync(spec)
    before = world.checkpoints.position(ORDERS).state
    world.database.delete(ORDERS, {"id": 3})
    order(world.database, "new", world.database.stamp(), number=11)
    assert (world.sync(spec).rows.deleted, numbers(world)) == (1, [1, 2, 4, 5, 6, 7, 8, 9, 10])
    after = world.checkpoints.position(ORDERS).state
    assert before is not None
    assert after is not None
    assert after.coverage == before.coverage


# --- what a person decides ------------------------------------------------------------------------------


def test_more_than_a_fraction_is_refused_with_the_number_and_what_to_type_and_nothing_lands() -> None:
    world = ten()
    world.sync(EACH)
    before, position = world.rows(ORDERS), world.checkpoints.position(ORDERS).state
    for number in (1, 2, 3):
        world.database.delete(ORDERS, {"id": number})
    order(world.database, "new", world.database.stamp(), number=11)
    with pytest.raises(Refused) as refused:
        world.sync(EACH)
    assert str(refused.value) == (
        "shop.public.orders: 3 rows of the 10 in the copy are gone from the source, more than `max_fraction: 0.2` allows, so the copy was left "
        "as it is; if that is right, run `incremental-assets sync --select shop.public.orders --allow-shrink --yes`"
    )
    assert (world.rows(ORDERS), world.checkpoints.position(ORDERS).state) == (before, position)
    assert world.stage.batches == {}
    report = world.sync(EACH, allow_shrink=True)
    assert (report.rows.deleted, report.rows.inserted) == (3, 1)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_as_much_as_the_fraction_goes() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 1})
    world.database.delete(ORDERS, {"id": 2})
    assert world.sync(EACH).rows.deleted == 2


def test_an_empty_source_is_refused_whatever_the_fraction() -> None:
    world, spec = ten(), orders(deletes=replace(DIFF, max_fraction=1.0))
    world.sync(spec)
    for number in range(1, 11):
        world.database.delete(ORDERS, {"id": number})
    with pytest.raises(Refused, match="10 rows of the 10 in the copy are gone from the source, which would leave none"):
        world.sync(spec)
    assert len(numbers(world)) == 10
    assert world.sync(spec, allow_shrink=True).rows.deleted == 10


def test_a_table_that_was_truncated_and_is_being_filled_again_is_refused() -> None:
    world = ten()
    world.sync(EACH)
    world.database.truncate(ORDERS)
    for number in range(1, 10):
        order(world.database, f"customer {number}", world.database.stamp(), number=number)
    with pytest.raises(Refused, match=r"truncated or rewritten in the source .* 1 row of the copy is not there"):
        world.sync(EACH)
    order(world.database, "customer 10", world.database.stamp(), number=10)
    assert world.sync(EACH).status is Status.LANDED
    world.database.delete(ORDERS, {"id": 3})
    assert world.sync(EACH).rows.deleted == 1, "the new file is known by then"


def test_a_source_of_another_identity_takes_nothing_away() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.database.system = "another"
    with pytest.raises(SourceExchanged):
        world.sync(EACH)
    assert len(numbers(world)) == 10


def test_a_replica_that_does_not_say_where_it_stands_is_not_compared_with() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    bound = world.database.bound
    world.database.bound = lambda: replace(bound(), replica=True, identity=None)  # type: ignore[method-assign]
    assert world.sync(EACH).rows.deleted == 0
    assert len(numbers(world)) == 10


def test_a_first_load_compares_nothing_and_counts_as_compared() -> None:
    world = ten()
    assert world.sync(DAILY).rows == RowCounts(read=10, inserted=10)
    world.database.tick(600)
    world.sync(DAILY)
    assert world.sync(DAILY).status is Status.IDLE


def test_an_append_is_left_as_it_is() -> None:
    world, spec = ten(), orders(Strategy.APPEND)
    world.sync(spec)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    world.sync(spec)
    assert len(numbers(world)) == 10


# --- what the source marks itself -----------------------------------------------------------------------

SOFT = Deletes(DeleteMode.SOFT, Then.REMOVE, column="status", value="gone")


@pytest.mark.parametrize("size", [0, WORTH_IT])
def test_a_row_that_the_source_has_marked_goes_and_is_no_drift(size: int) -> None:
    world, spec = ten(), orders(deletes=SOFT, size=size)
    order(world.database, "never there", world.database.stamp(), status="gone", number=11)
    assert world.sync(spec).rows.inserted == 10
    world.database.tick(60)
    world.database.update(ORDERS, {"id": 3}, status="gone", updated_at=world.database.stamp())
    assert world.sync(spec).rows.deleted == 1
    assert numbers(world) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    world.database.tick(600)
    world.sync(spec)
    found = reconcile(spec, None, world.ports())
    assert (found.rows, found.detail) == (0, "9 rows in 1 window are equal")


def test_a_row_whose_mark_was_taken_back_is_there_again() -> None:
    world, spec = ten(), orders(deletes=SOFT)
    world.sync(spec)
    world.database.update(ORDERS, {"id": 3}, status="gone", updated_at=world.database.stamp())
    world.sync(spec)
    world.database.tick(60)
    world.database.update(ORDERS, {"id": 3}, status="paid", updated_at=world.database.stamp())
    world.sync(spec)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_a_row_that_is_kept_lands_with_its_mark_and_no_keys_are_compared() -> None:
    world, spec = ten(), orders(deletes=replace(SOFT, then=Then.KEEP))
    world.sync(spec)
    world.database.update(ORDERS, {"id": 3}, status="gone", updated_at=world.database.stamp())
    world.database.tick(600)
    report = world.sync(spec)
    assert (report.rows.updated, report.rows.deleted) == (1, 0)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))
    assert world.sync(spec).status is Status.IDLE


# --- rows that stay, and say that they are gone -----------------------------------------------------------

MARKED = orders(deletes=replace(DIFF, then=Then.MARK))


def marks(world: World) -> dict[object, object]:
    return {row["id"]: row.get("_sync_deleted_at") for row in world.lake.tables[ORDERS].rows if not is_live(row)}


def test_a_row_that_is_gone_stays_and_says_since_when_and_is_marked_once() -> None:
    world = ten()
    world.sync(MARKED)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    found = world.database.clock
    assert world.sync(MARKED).rows.deleted == 1
    assert marks(world) == {3: found}
    assert len(numbers(world)) == 10
    world.database.tick(600)
    assert world.sync(MARKED).rows.deleted == 0
    assert marks(world) == {3: found}


def test_a_key_that_comes_back_has_no_mark_though_its_row_is_as_it_was() -> None:
    world, spec = ten(), replace(MARKED, lookback=timedelta(days=1))
    world.sync(spec)
    kept = next(row for row in world.database.rows(ORDERS) if row["id"] == 3)
    world.database.delete(ORDERS, {"id": 3})
    world.sync(spec)
    world.database.insert(ORDERS, **kept)
    world.database.tick(60)
    assert marks(world).keys() == {3}
    world.sync(spec)
    assert marks(world) == {}
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


TOLD = orders(Strategy.APPEND, lookback=timedelta(days=1), deletes=replace(DIFF, then=Then.MARK))


def test_an_append_gets_one_more_version_of_a_row_that_is_gone_and_another_when_it_comes_back() -> None:
    world = ten()
    world.sync(TOLD)
    kept = next(row for row in world.database.rows(ORDERS) if row["id"] == 3)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    report = world.sync(TOLD)
    assert (report.rows.deleted, report.rows.inserted) == (1, 0)
    assert numbers(world) == [1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10]
    assert marks(world).keys() == {3}
    assert world.sync(TOLD).rows.deleted == 0
    assert reconcile(TOLD, None, world.ports()).rows == 0
    world.database.insert(ORDERS, **kept)
    world.database.tick(60)
    assert world.sync(TOLD).rows.inserted == 1
    assert numbers(world).count(3) == 3
    world.database.delete(ORDERS, {"id": 3})
    assert world.sync(TOLD).rows.deleted == 1
    assert numbers(world).count(3) == 4


def test_rows_that_are_marked_are_no_drift() -> None:
    world = ten()
    world.sync(MARKED)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    world.sync(MARKED)
    assert reconcile(MARKED, None, world.ports()).detail == "9 rows in 1 window are equal"


# --- what a check says ------------------------------------------------------------------------------------


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


def test_a_table_that_does_not_follow_deletes_asks_neither_side_for_a_key() -> None:
    def asked(spec: TableSpec) -> list[str]:
        world = ten()
        world.sync(spec)
        order(world.database, "new", world.database.stamp(), number=11)
        process = world.process()
        world.sync(spec, process=process)
        return process.moments

    plain, followed = asked(orders()), asked(EACH)
    assert "before keys" not in plain
    assert plain == [moment for moment in followed if not moment.endswith(" keys")]
