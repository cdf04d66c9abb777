"""Stamps that are not the source's own time to its full precision: cut by a default, taken by an application, or by a trigger that was switched off."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand, OpenWorld
from tests.conformance.scenario import played_on, scenario
from tests.conformance.two_tables import GUARD
from tests.conformance.worlds import World
from tests.shop import touching

UNSTAMPED = {
    "PostgreSQL": (
        (
            "CREATE FUNCTION stamps() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.at := now(); RETURN NEW; END$$",
            "CREATE TRIGGER stamps BEFORE UPDATE ON things FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION stamps()",
        ),
        "UPDATE things SET amount = 1.00",
        "compares by `=`, which takes different values of 'amount' for the same",
    ),
    "MariaDB": (
        ("ALTER TABLE things MODIFY at timestamp(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)",),
        "UPDATE others SET id = 2",
        "the foreign key its_other changes its rows",
    ),
    "SQLite": (
        (
            "CREATE TRIGGER ends AFTER UPDATE ON things BEGIN SELECT RAISE(IGNORE) WHERE NEW.amount = 2; END",
            "CREATE TRIGGER stamps AFTER UPDATE ON things BEGIN UPDATE things SET at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id; END",
            "DROP TRIGGER ends",
            "CREATE TRIGGER ends AFTER UPDATE ON things BEGIN SELECT RAISE(IGNORE) WHERE NEW.amount = 2; END",
        ),
        "UPDATE things SET amount = 2",
        "the trigger ends may end a write before it is stamped",
    ),
}
"""What stamps updates, a change that it does not stamp all the same, and why the runs promise nothing."""
_IF_IT_BRINGS_NONE = "IF NEW.at = OLD.at THEN {} END IF;"
WRITERS = {
    "PostgreSQL": (
        "CREATE FUNCTION writes() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO brought (what, at) VALUES (NEW.what, '2001-01-01'); RETURN NULL; END$$",
        "CREATE TRIGGER writes AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION writes()",
        f"CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {_IF_IT_BRINGS_NONE.format('NEW.at := now();')} RETURN NEW; END$$",
        "CREATE TRIGGER touch BEFORE UPDATE ON nulls FOR EACH ROW EXECUTE FUNCTION touch()",
    ),
    "MariaDB": (
        "GRANT TRIGGER ON {s}.* TO reader@'127.0.0.1'",
        "CREATE TRIGGER writes AFTER INSERT ON others FOR EACH ROW INSERT INTO brought (what, at) VALUES (NEW.what, '2001-01-01')",
        f"CREATE TRIGGER touch BEFORE UPDATE ON nulls FOR EACH ROW BEGIN {_IF_IT_BRINGS_NONE.format('SET NEW.at = NOW(6);')} END",
    ),
    "SQLite": (
        "CREATE TRIGGER writes AFTER INSERT ON others BEGIN INSERT INTO brought (what, at) VALUES (NEW.what, '2001-01-01 00:00:00'); END",
        "CREATE TRIGGER touch AFTER UPDATE ON nulls WHEN NEW.at = OLD.at BEGIN UPDATE nulls SET at = datetime('now') WHERE id = NEW.id; END",
    ),
}
"""A trigger of another table that brings stamps, and one that stamps a row which brings none, unless that is NULL."""
CUT = {
    "PostgreSQL": "date_trunc('hour', now())",
    "MariaDB": "(date_format(now(), '%Y-%m-%d %H:00:00'))",
    "SQLite": "(strftime('%Y-%m-%d %H:00:00', 'now'))",
}


@scenario(
    "T60",
    "A default of the database cuts stamps to the hour, or to the day, and rows come one after the other, each after a sync",
    holds="each lands with the next sync, once, as the watermark stays at the beginning of what stamps are cut to; the runs are `settled`",
)
@played_on("postgresql", "mariadb", "sqlite")
def test_stamps_that_a_default_cuts(world: World, open_world: OpenWorld) -> None:
    day = {"PostgreSQL": "current_date", "MariaDB": "(curdate())", "SQLite": "(datetime('now', 'start of day'))"}[
        world.title
    ]
    names = {"hours": CUT[world.title], "days": day}
    desk = open_world(
        "\n".join(f'- "{{s}}.{name}:at:{{c}}!append"' for name in names),
        *(
            f"CREATE TABLE {name} (id {world.words.numbered}, what varchar(9), at {world.words.bare} NOT NULL DEFAULT {cut})"
            for name, cut in names.items()
        ),
    )
    for number in range(3):
        desk.execute(*(f"INSERT INTO {name} (what) VALUES ('row {number}')" for name in names))
        for name, report in desk.land().items():
            assert (report.status, report.rows.inserted, report.guarantee) == (Status.LANDED, 1, "settled"), name
        time.sleep(GUARD)
    for name in names:
        desk.assert_equal(name)
    assert {report.status for report in desk.sync().values()} == {Status.IDLE}


@scenario(
    "T61",
    "An application stamps its rows by its own clock, longer and longer before its transaction, and neither a default nor a trigger of the database does",
    holds="the runs say `best_effort` and why; where the configuration declares how far stamps may lag, `settled within` it, every row lands that keeps to it, and one that "
    "does not is reported, and no run promises more until more is declared",
)
def test_stamps_of_an_application(world: World, open_world: OpenWorld) -> None:
    names = ("plain", "declared")

    def configured(within: str) -> str:
        stamped = f", stamped: {{by: application, within: {within}}}"
        return "\n".join(
            f"- {{table: {{s}}.{name}, cursor: {{column: at, type: {{c}}{more}}}, strategy: append}}"
            for name, more in zip(names, ("", stamped), strict=True)
        )

    desk = open_world(
        configured("1m"),
        *(
            f"CREATE TABLE {name} (id {world.words.numbered}, what varchar(9), at {world.words.bare} NOT NULL)"
            for name in names
        ),
    )

    def written(seconds: float) -> None:
        """A row that was stamped so long before its transaction."""
        now = datetime.fromisoformat(world.clock().strip("'").removesuffix("+00"))
        at = world.words.at((now - timedelta(seconds=seconds)).isoformat(" ", "microseconds"))
        desk.execute(*(f"INSERT INTO {name} (what, at) VALUES ('row', {at})" for name in names))

    # A server tells when a table was made by the second, in which it may have been altered once more.
    time.sleep(GUARD)
    written(0)
    first = desk.land()
    time.sleep(GUARD)
    written(50)
    kept = desk.land()
    time.sleep(GUARD)
    written(90)
    broken = desk.land()
    desk.execute(*(f"INSERT INTO {name} (what, at) VALUES ('row', {world.clock()})" for name in names))
    after = desk.land()
    world.configure(configured("5m"))
    desk.execute(*(f"INSERT INTO {name} (what, at) VALUES ('row', {world.clock()})" for name in names))
    longer = desk.land()

    assert {report["plain"].guarantee for report in (first, kept, broken, after, longer)} == {"best_effort"}
    assert "neither a default nor a trigger" in first["plain"].guarantee_reason
    assert [report["declared"].promise for report in (first, kept)] == ["settled within 1m"] * 2
    assert (kept["declared"].rows.inserted, kept["declared"].warnings) == (1, ())
    assert (broken["declared"].rows.inserted, broken["declared"].rows.late) == (1, 1)
    assert [report["declared"].guarantee for report in (broken, after)] == ["best_effort"] * 2
    assert "came later than 1m" in broken["declared"].guarantee_reason
    assert longer["declared"].promise == "settled within 5m"
    desk.assert_equal("declared")


@scenario(
    "T62",
    "A migration switches the trigger off that stamps updates, changes rows under their old stamps, and switches it on again, in one transaction and in two",
    holds="the run that finds it says `best_effort`, warns once, and names the check that finds the rows; the next is `settled`",
)
def test_a_trigger_that_a_migration_switches_off(stand: OpenStand) -> None:
    desk = stand(
        '- "public.orders:updated_at:timestamp!upsert"',
        "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
        *touching("orders"),
        "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 9) AS n",
    )
    off, on = (f"ALTER TABLE orders {each} TRIGGER touch" for each in ("DISABLE", "ENABLE"))
    assert desk.land()["orders"].guarantee == "settled"
    with desk.shop.connect() as connection:
        for statement in (off, "UPDATE orders SET note = 'migrated' WHERE id = 1", on):
            connection.execute(statement.encode())
    at_once = desk.sync()["orders"]
    desk.execute("INSERT INTO orders VALUES (10, 'new')")
    after = desk.land()["orders"]
    desk.execute(off, "INSERT INTO orders VALUES (11, 'while it is off')")
    is_off = desk.land()["orders"]
    desk.execute(on, "INSERT INTO orders VALUES (12, 'later')")
    last = desk.land()["orders"]

    assert [each.guarantee for each in (at_once, after, is_off, last)] == [
        "best_effort",
        "settled",
        "best_effort",
        "settled",
    ]
    assert "was altered since the last sync" in at_once.guarantee_reason
    assert any("incremental-assets check" in warning for warning in at_once.warnings)
    assert "the trigger touch, which stamps 'updated_at', is switched off" in is_off.guarantee_reason
    assert after.warnings == ()


@scenario(
    "T63",
    "A row changes and the database does not stamp it, though it stamps every other: by `ON UPDATE CASCADE` of a foreign key, as a trigger compares rows by `=` (1.0 and 1.00), "
    "as another trigger ends the write (`RAISE(IGNORE)`)",
    holds="every run says `best_effort` and names the foreign key or the trigger, also where the configuration declares how far stamps may lag; the check finds the row",
)
def test_a_change_that_the_database_does_not_stamp(world: World, open_world: OpenWorld) -> None:
    makes, change, why = UNSTAMPED["MariaDB" if world.title == "MySQL" else world.title]
    refers = ", CONSTRAINT its_other FOREIGN KEY (other) REFERENCES others (id) ON UPDATE CASCADE"
    desk = open_world(
        '- "{s}.things:at:{c}!upsert"',
        "CREATE TABLE others (id int NOT NULL PRIMARY KEY)",
        f"CREATE TABLE things (id {world.words.numbered}, amount {'numeric' if world.title == 'PostgreSQL' else 'int'}, other int, at {world.words.stamp}{refers})",
        *makes,
        "INSERT INTO others VALUES (1)",
        "INSERT INTO things (amount, other) VALUES (1.0, 1)",
    )
    time.sleep(GUARD)
    first = desk.land()["things"]
    time.sleep(GUARD)
    desk.execute(change)
    second = desk.land()["things"]

    assert [each.guarantee for each in (first, second)] == ["best_effort"] * 2
    assert why in second.guarantee_reason
    assert second.rows.read == 0, f"else this is not what the scenario is about: {first.new_watermark}, {second}"
    assert desk.copy("things") != desk.source('SELECT * FROM "things"')
    assert desk.check("things") == 1


@scenario(
    "T93",
    "A trigger of another table writes rows with stamps of its own; and of a table with a `fallback` a trigger stamps a change where the stamp is equal to the old one, which of two NULLs is not true",
    holds="no run of either promises anything, and each says which trigger is why; the check finds the rows",
)
@played_on("postgresql", "mariadb", "sqlite")
def test_what_the_database_writes_beside_the_stamps_of_a_table(world: World, open_world: OpenWorld) -> None:
    words = world.words
    desk = open_world(
        '- "{s}.brought:at:{c}!append"\n'
        "- {table: {s}.nulls, cursor: {column: at, type: {c}, fallback: made}, strategy: upsert}",
        f"CREATE TABLE others (id {words.numbered}, what varchar(9))",
        f"CREATE TABLE brought (id {words.numbered}, what varchar(9), at {words.stamp})",
        f"CREATE TABLE nulls (id {words.numbered}, what varchar(9), made {words.stamp}, at {words.bare} NULL)",
        *(statement.replace("{s}", world.schema) for statement in WRITERS[world.title]),
        "INSERT INTO nulls (what) VALUES ('one')",
        "INSERT INTO brought (what) VALUES ('one')",
    )
    time.sleep(GUARD)
    first = desk.land()
    time.sleep(GUARD)
    desk.execute("INSERT INTO others (what) VALUES ('two')", "UPDATE nulls SET what = 'two'")
    second = desk.land()

    for reports in (first, second):
        assert {report.guarantee for report in reports.values()} == {"best_effort"}
        assert "the trigger writes, which writes rows of the table" in reports["brought"].guarantee_reason
        assert "the trigger touch" in reports["nulls"].guarantee_reason
    for name in ("brought", "nulls"):
        assert desk.copy(name, "what") != desk.source(f"SELECT what FROM {name}"), "else it is not what this is about"
        assert desk.check(name) == 1
