"""Rows that are gone from the source go from the copy, once a snapshot says so and never against a person's will."""

from dataclasses import replace
from datetime import timedelta

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status
from tests.core.deletes import DAILY, DIFF, EACH, numbers, ten
from tests.fakes import ordered
from tests.scenario import MONDAY, ORDERS, order, orders


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
    assert state_of(state.to_json()) == state


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
    assert after.position.coverage == before.position.coverage


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
    assert plain == [moment for moment in followed if not moment.endswith("keys")]
