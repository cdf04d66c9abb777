"""T5, T6, T12 to T16, T18, T22, T23, T40, T43, T45 on each database that has a server here: which rows land, and as what."""

from __future__ import annotations

import time

from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import scenario
from tests.conformance.stand import statuses
from tests.conformance.two_tables import BOTH, GUARD, TABLES, moment, row, tables
from tests.conformance.worlds import World
from tests.spark_jobs import jobs

UPSERT = "cursor: {column: updated_at, type: {c}}, strategy: upsert"


def january(world: World) -> Window:
    return Window(moment(world, "2024-01-01T00:00:00"), moment(world, "2024-02-01T00:00:00"))


@scenario(
    "T6",
    "The cursor is NULL until a row is first changed; such rows come, and one gets a stamp later, under `nulls:` fail, always and skip",
    holds="`fail` stops the table and names the count; `always` holds every row as it is; `skip` leaves exactly those rows out, until they have a stamp",
)
def test_rows_without_a_cursor_on_each_database(world: World, open_world: OpenWorld) -> None:
    names = ("fail", "always", "skip")
    desk = open_world(
        "\n".join(
            f"- {{table: {{s}}.{name}, cursor: {{column: at, type: {{c}}, nulls: {name}}}, strategy: upsert}}"
            for name in names
        ),
        *(
            f"CREATE TABLE {name} (id int NOT NULL PRIMARY KEY, note varchar(9), at {world.words.bare} NULL)"
            for name in names
        ),
        *(
            f"INSERT INTO {name} VALUES (1, 'new', NULL), (2, 'new', NULL), (3, 'stamped', {world.words.now})"
            for name in names
        ),
    )
    first = desk.sync()
    assert statuses(first) == dict.fromkeys(names, Status.LANDED) | {"fail": Status.FAILED}
    assert "2 rows" in str(first["fail"].error)
    assert not desk.shop.lake("fail").exists()
    for name in names:
        desk.execute(
            f"UPDATE {name} SET note = 'changed', at = {world.words.now} WHERE id = 2",
            f"INSERT INTO {name} VALUES (4, 'new', NULL)",
        )
    desk.sync()
    desk.assert_equal("always")
    desk.assert_equal("skip", "SELECT * FROM skip WHERE at IS NOT NULL")


@scenario(
    "T12",
    "January is backfilled after its rows have changed without a new stamp and one was moved to today; then the watermark is set back to its middle",
    holds="the changes are picked up, no newer row is taken back, nothing lands twice, and the watermark stays where it is",
)
def test_a_window_is_read_again_on_each_database(world: World, open_world: OpenWorld) -> None:
    days = ((1, "10"), (2, "20"), (3, "31"))
    desk = open_world(
        TABLES,
        *tables(world),
        *(each for n, day in days for each in row(n, f"in January {day}", world.words.at(f"2024-01-{day} 00:00:00"))),
        *row(4, "in February", world.words.at("2024-02-01 00:00:00")),
    )
    desk.land()
    desk.execute(f"UPDATE orders SET note = 'moved', updated_at = {world.words.now} WHERE id = 1")
    marks = {name: report.new_watermark for name, report in desk.land().items() if report.new_watermark}
    desk.execute(
        "UPDATE orders SET note = 'silently' WHERE id = 2",
        row(9, "came silently", world.words.at("2024-01-11 00:00:00"))[1],
    )
    again = desk.land(mode=Mode.BACKFILL, window=january(world))
    assert {name: (each.rows.read, each.rows.inserted, each.rows.updated) for name, each in again.items()} == {
        "orders": (2, 0, 1),
        "visits": (4, 1, 0),
    }
    assert {name: again[name].new_watermark for name in marks} == marks
    desk.reset("visits", moment(world, "2024-01-15T00:00:00"))
    assert desk.land("visits")["visits"].rows.inserted == 0
    for name in BOTH:
        desk.assert_equal(name)
    desk.assert_tidy(*BOTH)


@scenario(
    "T13",
    "A `primary_key` is only declared, and the source repeats it: within one batch, with equal cursors, and in a backfill that sees only the older of two rows",
    holds="the row with the largest cursor lands, of equal ones the one with the largest columns; the repetition is reported; an older cursor never overwrites a newer one",
)
def test_a_declared_key_that_repeats_on_each_database(world: World, open_world: OpenWorld) -> None:
    at = {day: world.words.at(f"2024-{day} 00:00:00") for day in ("01-10", "01-20", "02-10")}
    desk = open_world(
        "- {table: {s}.prices, cursor: {column: at, type: {c}}, strategy: upsert, primary_key: [sku]}",
        f"CREATE TABLE prices (sku varchar(9), price int, at {world.words.bare} NOT NULL)",
        f"INSERT INTO prices VALUES ('tea', 1, {at['01-10']}), ('tea', 2, {at['02-10']})",
        f"INSERT INTO prices VALUES ('rum', 9, {at['01-20']}), ('rum', 8, {at['01-20']}), ('rum', NULL, {at['01-20']})",
    )
    first = desk.land()["prices"]
    assert (first.rows.read, first.rows.inserted) == (5, 2)
    assert any("3 rows repeat a key (sku)" in text for text in first.warnings), first.warnings
    assert desk.copy("prices", "sku", "price") == [("rum", 9), ("tea", 2)]
    again = desk.land(mode=Mode.BACKFILL, window=january(world))["prices"]
    assert (again.rows.read, again.rows.inserted, again.rows.updated) == (4, 0, 0)
    assert desk.copy("prices", "sku", "price") == [("rum", 9), ("tea", 2)]


@scenario(
    "T16",
    "A column is added with a default, which rows have at once although none of them was stamped anew, and one is dropped; rows come and change",
    holds="the new column arrives with all its values, what was dropped keeps what it held, and no row is lost or lands twice",
)
def test_a_column_comes_and_one_goes_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        f"- {{table: {{s}}.orders, {UPSERT}}}",
        f"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, note varchar(40), extra int, updated_at {world.words.stamp})",
        "INSERT INTO orders (id, note, extra) VALUES (1, 'one', 10), (2, 'two', 20)",
    )
    desk.land()
    desk.execute(
        "ALTER TABLE orders ADD COLUMN colour varchar(9) DEFAULT 'red'",
        "ALTER TABLE orders DROP COLUMN extra",
        "INSERT INTO orders (id, note, colour) VALUES (3, 'three', 'blue')",
        f"UPDATE orders SET note = 'second', updated_at = {world.words.now} WHERE id = 2",
    )
    desk.land()
    desk.land()
    assert desk.copy("orders", "id", "note", "extra", "colour") == [
        (1, "one", 10, "red"),
        (2, "second", 20, "red"),
        (3, "three", None, "blue"),
    ]


@scenario(
    "T18",
    "A table is empty at first; and a table without a key has equal rows, two at first, three more of the same later",
    holds="an empty table lands with its columns, and fills later; equal rows are as many as in the source, and reading them again adds none",
)
def test_empty_and_keyless_tables_on_each_database(world: World, open_world: OpenWorld) -> None:
    same = f"INSERT INTO visits VALUES ('ann', {world.words.at('2026-01-01 00:00:00')})"
    desk = open_world(
        '- "{s}.orders:updated_at:{c}!upsert"\n'
        "- {table: {s}.visits, cursor: {column: at, type: {c}}, strategy: append, lookback: 36500d}",
        *tables(world),
        *[same] * 2,
    )
    desk.land()
    assert desk.copy("orders") == []
    desk.execute(*[same] * 3, row(1, "now")[0])
    second = desk.land()["visits"]
    assert (second.rows.read, second.rows.inserted, second.rows.unchanged) == (5, 3, 2)
    for name in BOTH:
        desk.assert_equal(name)


@scenario(
    "T22",
    "Nothing moved; then only a row below the watermark changed, without a new stamp",
    holds="each time the tables are idle: no Spark job, no Delta commit, nothing added twice",
)
def test_an_idle_sync_costs_nothing_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        TABLES,
        *tables(world),
        *row(1, "a", world.words.at("2024-01-10 00:00:00")),
        *row(2, "b", world.words.at("2024-01-20 00:00:00")),
    )
    for name in BOTH:
        world.wait_until_dated(name)
    desk.land()
    versions, begun = {name: desk.versions(name) for name in BOTH}, jobs(desk.spark)
    idle = dict.fromkeys(BOTH, Status.IDLE)
    assert statuses(desk.land()) == idle
    desk.execute("UPDATE orders SET note = 'quietly' WHERE id = 1")
    assert statuses(desk.land()) == idle
    assert jobs(desk.spark) == begun
    assert {name: desk.versions(name) for name in BOTH} == versions
    desk.execute(*row(3, "new"))
    assert {report.rows.inserted for report in desk.land().values()} == {1}


@scenario(
    "T23",
    "Tables are dropped in the source and made anew with other rows: one with a stamp as its cursor, one with numbers that begin at 1 again",
    holds="the rows of the new table land beside those that had landed; where its numbers are below the watermark, the run warns of it, and a reset reads them",
)
def test_a_table_is_made_anew_on_each_database(world: World, open_world: OpenWorld) -> None:
    orders, _ = tables(world)
    events = "CREATE TABLE events (id bigint NOT NULL PRIMARY KEY, what varchar(9))"
    desk = open_world(
        '- "{s}.orders:updated_at:{c}!upsert"\n- "{s}.events:id:integer!append"',
        orders,
        events,
        *(row(n, "old", world.words.at("2024-01-10 00:00:00"))[0] for n in (1, 2)),
        "INSERT INTO events VALUES (1, 'old'), (100, 'old')",
    )
    desk.land()
    time.sleep(GUARD)
    desk.land()
    desk.execute("DROP TABLE orders", "DROP TABLE events", orders, events)
    desk.execute(row(1, "new")[0], row(3, "new")[0], "INSERT INTO events VALUES (1, 'new'), (2, 'new')")
    reports = desk.land()

    assert desk.copy("orders", "id", "note") == [(1, "new"), (2, "old"), (3, "new")]
    told = " ".join(reports["events"].warnings)
    assert "100" in told
    assert "reset" in told
    desk.reset("events")
    desk.land()
    assert [each for each in desk.source("SELECT * FROM events") if each not in desk.copy("events")] == []


@scenario(
    "T40",
    "Of 3,000 rows some dozen are deleted, one moves to another key, others change and come; a history is kept",
    holds="one sync later the table equals the source, in one commit; the history ends the versions of what is gone and has one open version for each row; the next sync finds nothing",
)
def test_deletes_and_a_history_on_each_database(world: World, open_world: OpenWorld) -> None:
    orders, _ = tables(world)
    desk = open_world(
        f"- {{table: {{s}}.orders, {UPSERT}, deletes: {{mode: diff, every: 0s}}, history: scd2}}",
        orders,
        f"INSERT INTO orders (id, note) SELECT n, 'first' FROM {world.many(900)}",
        "INSERT INTO orders (id, note) SELECT id + 900, note FROM orders",
        "INSERT INTO orders (id, note) SELECT id + 1800, note FROM orders WHERE id <= 1200",
    )
    desk.land()
    versions = len(desk.versions("orders"))
    desk.execute(
        "DELETE FROM orders WHERE id % 100 = 7 OR id IN (1, 3000)",
        f"UPDATE orders SET id = 50000, updated_at = {world.words.now} WHERE id = 500",
        f"UPDATE orders SET note = 'second', updated_at = {world.words.now} WHERE id = 600",
        row(3001, "new")[0],
    )
    rows = desk.land()["orders"].rows
    assert (rows.deleted, rows.inserted, rows.updated) == (33, 2, 1)
    assert len(desk.versions("orders")) == versions + 1
    desk.assert_equal("orders")
    kept = desk.spark.read.format("delta").load(str(desk.shop.lake("orders__history")))
    assert kept.where("_valid_to IS NULL AND NOT _sync_deleted").count() == len(desk.source("SELECT id FROM orders"))
    assert sorted(each[0] for each in kept.where("id = 600").select("note").collect()) == ["first", "second"]
    assert desk.land()["orders"].rows.deleted == 0


@scenario(
    "T45",
    "Rows are changed to what their contract does not take, and one such row comes; then one is mended",
    holds="bad rows are held with every reason and the others land; the copy keeps the last version that passed; what is mended lands, once",
)
def test_a_contract_holds_rows_on_each_database(world: World, open_world: OpenWorld) -> None:
    orders, _ = tables(world)
    desk = open_world(
        f"- {{table: {{s}}.orders, {UPSERT}, contract: {{note: {{nullable: false, matches: '[^@]+@'}}, id: {{ge: 0}}}}}}",
        orders,
        *(row(n, f"u{n}@shop")[0] for n in (1, 2)),
    )
    desk.land()
    desk.execute(
        f"UPDATE orders SET note = 'nobody', updated_at = {world.words.now} WHERE id = 1",
        f"UPDATE orders SET note = 'v2@shop', updated_at = {world.words.now} WHERE id = 2",
        row(-3, "none")[0],
    )
    report = desk.land()["orders"]
    assert (report.rows.quarantined, report.rows.updated) == (2, 1)
    reasons = {str(each["id"]): each["_sync_reason"] for each in desk.quarantined("orders")}
    assert reasons.keys() == {"1", "-3"}
    assert "id: ge 0" in reasons["-3"]
    assert desk.copy("orders", "id", "note") == [(1, "u1@shop"), (2, "v2@shop")]
    desk.execute(f"UPDATE orders SET note = 'w1@shop', updated_at = {world.words.now} WHERE id = 1")
    desk.land()
    assert desk.copy("orders", "id", "note") == [(1, "w1@shop"), (2, "v2@shop")]


@scenario(
    "T5",
    "A date column is the cursor; a sync runs, and rows of the same day come after it",
    holds="they land with the next sync, each once, under append (equal rows included) and upsert",
)
def test_rows_later_on_the_same_day_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        '- "{s}.sales:day:date!append"\n- "{s}.stock:day:date!upsert"',
        "CREATE TABLE sales (what varchar(9), pieces int, day date NOT NULL)",
        "CREATE TABLE stock (what varchar(9) NOT NULL PRIMARY KEY, pieces int, day date NOT NULL)",
        *(f"INSERT INTO {name} VALUES ('tea', 1, CURRENT_DATE)" for name in ("sales", "stock")),
    )
    desk.land()
    desk.execute(
        "INSERT INTO sales VALUES ('tea', 1, CURRENT_DATE), ('tea', 1, CURRENT_DATE), ('rum', 2, CURRENT_DATE)",
        "UPDATE stock SET pieces = 7 WHERE what = 'tea'",
        "INSERT INTO stock VALUES ('rum', 3, CURRENT_DATE)",
    )
    second = desk.land()
    assert (second["sales"].rows.inserted, second["sales"].rows.unchanged) == (3, 1)
    assert (second["stock"].rows.inserted, second["stock"].rows.updated) == (1, 1)
    for name in ("sales", "stock"):
        desk.assert_equal(name)
