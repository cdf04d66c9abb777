"""What does a sync ask, read, write and keep when there is nothing to land?"""

from incremental_assets.core.model.table import Strategy
from incremental_assets.core.planning.report import RowCounts, Status
from tests.core.stories import UPSERT, opened
from tests.fakes import World
from tests.scenario import ORDERS, order, orders, shop


def test_an_idle_table_is_asked_and_neither_read_nor_written() -> None:
    world = opened()
    world.sync(UPSERT)
    world.database.tick(60)
    process = world.process()
    report = world.sync(UPSERT, process=process)
    assert (report.status, report.reason) == (Status.IDLE, "nothing changed")
    assert str(report.new_watermark) == "2024-01-29T09:02:58Z"
    assert [moment for moment in process.moments if moment.startswith("before")] == [
        "before lease",
        "before position",
        "before observe",
        "before last_commit",
        "before idle",
    ]


def test_a_change_that_leaves_nothing_to_read_moves_the_watermark_without_a_commit() -> None:
    world = opened()
    slow = world.database.begin()
    order(slow, "slow", slow.stamp())
    order(world.database, "quick", world.database.stamp())
    world.sync(UPSERT)
    version = world.lake.tables[ORDERS].version
    slow.abort()
    world.database.delete(ORDERS, {"customer": "grace"})
    world.database.delete(ORDERS, {"customer": "quick"})
    world.database.tick(60)
    report = world.sync(UPSERT)
    assert (report.status, report.rows, report.target_version) == (Status.LANDED, RowCounts(), version)
    assert world.lake.tables[ORDERS].version == version
    assert world.stage.batches == {}
    order(world.database, "alan", world.database.stamp())
    assert world.sync(UPSERT).rows.inserted == 1


def test_an_empty_table_becomes_an_empty_table() -> None:
    world = World(shop())
    assert world.sync(UPSERT).status is Status.LANDED
    assert world.rows(ORDERS) == []
    world.database.tick(60)
    assert world.sync(UPSERT).status is Status.IDLE


def test_a_few_rows_are_counted_again_rather_than_asked_about_twice() -> None:
    """The watermark of a time cursor moves at every look: a thousand idle tables would cost two thousand questions."""
    world = World(shop())
    spec = orders()
    order(world.database, "only", "2024-01-10T00:00:00Z")
    world.sync(spec)
    kept = world.checkpoints.position(ORDERS).state
    for _ in range(2):
        world.pass_time(60)
        assert world.sync(spec).status is Status.IDLE
    state = world.checkpoints.position(ORDERS).state
    assert kept is not None
    assert state is not None
    assert state.position.fingerprint == kept.position.fingerprint
    assert state.position.watermark != kept.position.watermark


def test_numbers_that_settle_while_nothing_moves_are_counted_no_more() -> None:
    """Else every look at a table that stands still would count all of it."""
    world = World(shop())
    spec = orders(Strategy.APPEND, cursor="id")
    for number in range(1, 2_001):
        order(world.database, f"row {number}", "2024-01-10T00:00:00Z")
    open_one = world.database.begin()
    assert world.sync(spec).new_watermark is None
    open_one.abort()
    world.pass_time(10)
    assert world.sync(spec).status is Status.IDLE
    world.sync(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert state.position.fingerprint is not None
    assert (str(state.position.watermark), str(state.position.fingerprint.lower), state.position.fingerprint.rows) == (
        "2001",
        "2001",
        0,
    )

    world.database.update(ORDERS, {"id": 1}, status="below the watermark")
    assert world.sync(spec).status is Status.IDLE
    order(world.database, "new", "2024-01-10T00:00:00Z")
    assert world.sync(spec).rows.inserted == 1
