"""T51: one object of the source that cannot be described, among tables that can."""

from __future__ import annotations

from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import played_on, scenario
from tests.conformance.worlds import World, held

_ORDERS = "CREATE TABLE orders (id {numbered}, what varchar(20), at {stamp})"
_FILLED = "INSERT INTO orders (what) VALUES ('first')"


def _orders(world: World) -> tuple[str, ...]:
    made = _ORDERS.format(numbered=world.words.numbered, stamp=world.words.stamp)
    return made, *world.touching("orders", "at"), _FILLED


@scenario(
    "T51",
    "A view outlives its table, another calls a function that is gone, a third names a column that was dropped; they are not listed, and later they are",
    holds="every other table lands, `settled`, whether they are wanted or not; where they are wanted each is named with what the database says of it, and its copy is no matter",
)
@played_on("mariadb", "mysql", "sqlite")
def test_views_that_cannot_be_described_stop_no_other_table(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        '- "{s}.orders:at:{c}!upsert"',
        *_orders(world),
        "CREATE TABLE lost (id int PRIMARY KEY, size int)",
        "CREATE VIEW of_lost AS SELECT id FROM lost",
        "CREATE TABLE parts (id int PRIMARY KEY, size int, weight int)",
        "CREATE VIEW of_column AS SELECT size FROM parts",
        *_without_column(world),
        "DROP TABLE lost",
        *_of_function(world),
    )
    assert {name: report.guarantee for name, report in desk.land().items()} == {"orders": "settled"}
    desk.execute("INSERT INTO orders (what) VALUES ('second')")
    asked = world.config.read_text(encoding="utf-8")
    world.config.write_text(asked.replace("unlisted: ignore", "unlisted: full_refresh"), encoding="utf-8")
    with desk.runtime() as runtime:
        problems = {each.table.name: str(each.error) for each in runtime.specs("shop").problems}
    reports = desk.land()

    assert problems.keys() == {"of_lost", "of_column", "of_function"}
    for name, words in (("of_lost", "lost"), ("of_column", "of_column" if world.title != "SQLite" else "size")):
        assert words in problems[name]
        assert "add it to `exclude`" in problems[name]
    assert reports.keys() == {"orders", "parts"}
    desk.assert_equal("orders")


def _without_column(world: World) -> tuple[str, ...]:
    if world.title != "SQLite":
        return ("ALTER TABLE parts DROP COLUMN size",)
    # It keeps whoever drops a column from breaking a view; a table that is made anew is not looked after.
    return (
        "PRAGMA legacy_alter_table = ON",
        "DROP TABLE parts",
        "CREATE TABLE parts (id int PRIMARY KEY, weight int)",
    )


def _of_function(world: World) -> tuple[str, ...]:
    if world.title == "SQLite":
        # As an application makes it that brings the function itself.
        return ("CREATE VIEW of_function AS SELECT doubled(id) AS id FROM parts",)
    return (
        "CREATE FUNCTION doubled(x int) RETURNS int DETERMINISTIC RETURN 2 * x",
        "CREATE VIEW of_function AS SELECT doubled(id) AS id FROM parts",
        "DROP FUNCTION doubled",
    )


@scenario(
    "T51",
    "A session holds a table locked against readers, as a long ALTER TABLE or VACUUM FULL does, while another table has new rows",
    holds="the other table lands at once, `settled`; the locked one is named, and lands when the session has ended",
)
@played_on("postgresql")
def test_a_table_that_is_being_altered_stops_no_other_table(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        '- "{s}.orders:at:{c}!upsert"\n- "{s}.busy:at:{c}!upsert"',
        *_orders(world),
        *(statement.replace("orders", "busy") for statement in _orders(world)),
        options="options: {statement_timeout: 20s}",
    )
    desk.land()
    with held(world.session()) as altering:
        altering.run("LOCK TABLE busy IN ACCESS EXCLUSIVE MODE", "INSERT INTO busy (what) VALUES ('meanwhile')")
        desk.execute("INSERT INTO orders (what) VALUES ('second')")
        with desk.runtime() as runtime:
            problems = {each.table.name: str(each.error) for each in runtime.specs("shop").problems}
        reports = desk.land()
        assert problems.keys() == {"busy"}
        assert "another session holds a lock on it" in problems["busy"]
        assert {name: report.guarantee for name, report in reports.items()} == {"orders": "settled"}
        desk.assert_equal("orders")
        altering.commit()
    assert desk.land()["busy"].rows.inserted == 1
    desk.assert_equal("busy")
