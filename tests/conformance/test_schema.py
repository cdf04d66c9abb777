"""T16: the source's columns change, between two syncs and in the middle of one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.mart import FILL
from tests.conformance.meddling import assert_told, before_the_fill, before_the_read
from tests.conformance.points import Beside, Place, Point
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

RENAMING: tuple[Place, ...] = (
    Point.ANNOUNCED,
    Point.RECORDED,
    Point.BEFORE_COMMIT,
    Point.AFTER_COMMIT,
    Beside.BEGUN,
    Beside.DONE,
    Point.LANDED,
)
OLD = "'2024-01-10T00:00:00Z'"


@scenario(
    "T16",
    "A column is added, one dropped and one renamed between two syncs, and rows are inserted and changed",
    holds="new columns arrive, dropped ones keep what they held, the renamed one has all its values under its new name, of an upsert and of an append, "
    "and no file is written for it; no row is lost or lands twice",
    long=True,
)
def test_columns_come_and_go_between_syncs(stand: OpenStand) -> None:
    columns = "id int PRIMARY KEY, note text, extra int, at timestamptz NOT NULL DEFAULT now()"
    desk = stand(
        '- "public.orders:at:timestamp!upsert"\n- "public.readings:at:timestamp!append"',
        f"CREATE TABLE orders ({columns})",
        f"CREATE TABLE readings ({columns})",
    )
    for name in ("orders", "readings"):
        desk.execute(f"INSERT INTO {name} VALUES (1, 'one', 10, {OLD}), (2, 'two', 20, now())")
    desk.land()
    for name in ("orders", "readings"):
        desk.execute(
            f"ALTER TABLE {name} ADD COLUMN colour text",
            f"ALTER TABLE {name} DROP COLUMN extra",
            f"ALTER TABLE {name} RENAME COLUMN note TO remark",
            f"INSERT INTO {name} (id, remark, colour) VALUES (3, 'three', 'red')",
        )
    desk.execute("UPDATE orders SET colour = 'blue', at = now() WHERE id = 2")
    desk.land()
    desk.land()

    shown = ("id", "extra", "remark", "colour")
    assert desk.copy("orders", *shown) == [
        (1, 10, "one", None),
        (2, 20, "two", "blue"),
        (3, None, "three", "red"),
    ]
    assert desk.copy("readings", *shown) == [
        (1, 10, "one", None),
        (2, 20, "two", None),
        (3, None, "three", "red"),
    ]
    assert [
        {*desk.spark.read.format("delta").load(str(desk.shop.lake(name))).columns} & {"note"}
        for name in ("orders", "readings")
    ] == [set(), set()]


@scenario(
    "T16",
    "kill -9 of the whole process at each point that the commit of a rename passes, of an upsert with a history; rows change before the next sync",
    holds="the next sync has the column under its new name, once, with every value, in the copy and in its history; nothing is left over, and the ledger tells it once",
    long=True,
)
@pytest.mark.parametrize("point", RENAMING, ids=str)
def test_a_killed_rename_is_made_good_by_the_next_sync(stand: OpenStand, point: Place) -> None:
    desk = stand(
        "- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2}",
        "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
        f"INSERT INTO orders SELECT g, 'n' || g, {OLD} FROM generate_series(1, 5) AS g",
    )
    desk.land()
    desk.execute("ALTER TABLE orders RENAME COLUMN note TO remark")
    killed(desk, point, "orders", "incremental")
    desk.execute("UPDATE orders SET remark = 'moved', at = now() WHERE id = 2")

    desk.land()
    desk.land()
    desk.assert_equal("orders", "SELECT id, remark, at FROM orders")
    assert desk.copy("orders__history", "id", "remark", "_is_current") == [
        (1, "n1", True),
        (2, "moved", True),
        (2, "n2", False),
        *((number, f"n{number}", True) for number in (3, 4, 5)),
    ]
    told = [change for event in desk.events("orders") if event.report for change in event.report.schema_changes]
    assert [str(change) for change in told] == ["remark: renamed (note -> remark), by schema_changes: evolve"]
    desk.assert_tidy("orders")


@scenario(
    "T16",
    "A column is added with a default, which rows have at once although none of them was stamped anew; another was left out and is taken in; "
    "a row changes after the sync, before the values are read",
    holds="the run reads them by key, cursor and these columns alone: every row has the values, no row is shown by half, and the ledger says so; "
    "an append keeps its versions as they were read, and the run warns of them",
    long=True,
)
def test_a_new_column_with_a_default(stand: OpenStand) -> None:
    desk = with_defaults(stand)
    half = "UPDATE orders SET state = 'paid', note = 'moved', at = now() WHERE id = 7"
    read: list[tuple[str, ...]] = []
    reports = desk.land(through=before_the_fill(lambda: desk.execute(half), read))

    assert read == [("id", "fax", "at", "state")]
    assert reports["orders"].rows.updated == 59
    assert [row for row in desk.copy("orders", "id", "note", "state") if row[2] != "open"] == [(7, "n", None)]
    assert "new columns (state)" in " ".join(reports["readings"].warnings)
    assert [row for row in desk.copy("readings", "id", "state") if row[1] is not None] == [(61, "open")]
    changes = [str(change) for change in reports["orders"].schema_changes]
    assert changes[-2:] == [
        "fax: filled (string), by schema_changes: evolve",
        "state: filled (string), by schema_changes: evolve",
    ]
    desk.land()
    desk.assert_equal("orders", "SELECT id, note, at, fax, state FROM orders")
    desk.assert_tidy("orders", "readings")


@scenario(
    "T16",
    "kill -9 of the whole process at nine points of the second of several ranges in which the values of a new column are read",
    holds="the next syncs go on where the dead one stood: every row has the values, nothing is there twice, nothing is left over",
    long=True,
)
@pytest.mark.parametrize("point", Point, ids=str)
def test_a_killed_fill_is_gone_on_with_by_the_next_sync(stand: OpenStand, point: Point) -> None:
    desk = with_defaults(stand)
    desk.execute("INSERT INTO orders VALUES (61)")
    killed(desk, point, "orders", FILL)
    shown = [row[0] for row in desk.copy("orders", "state")]
    assert 0 < shown.count(None) < 60

    desk.land("orders")
    desk.assert_equal("orders", "SELECT id, note, at, fax, state FROM orders")
    desk.assert_tidy("orders")


def with_defaults(stand: OpenStand) -> Stand:
    """An upsert and an append of sixty rows that have landed; then a column comes with a default, and the upsert's other one is taken in."""
    columns = "id int PRIMARY KEY, note text, fax text DEFAULT 'f', at timestamptz NOT NULL DEFAULT now()"
    rows = "SELECT g, 'n', 'f', timestamptz '2024-01-01Z' + g * interval '1 day' FROM generate_series(1, 60) g"
    terms = "cursor: {column: at, type: timestamp}"
    desk = stand(
        f"- {{table: public.orders, {terms}, strategy: upsert, columns: {{exclude: [fax]}}}}\n"
        f"- {{table: public.readings, {terms}}}",
        *(f"CREATE TABLE {name} ({columns})" for name in ("orders", "readings")),
        *(f"INSERT INTO {name} {rows}" for name in ("orders", "readings")),
    )
    desk.land()
    desk.execute(*(f"ALTER TABLE {name} ADD COLUMN state text DEFAULT 'open'" for name in ("orders", "readings")))
    desk.execute("INSERT INTO readings VALUES (61)")
    config = desk.shop.config
    config.write_text(config.read_text().replace(", columns: {exclude: [fax]}", ""))
    return desk


@scenario(
    "T16",
    "Columns are widened (int to bigint, more digits, text without a limit) or retyped between two syncs; of another table, which is frozen, one is added",
    holds="a longer text goes on; every other change is refused in one sentence and nothing is written; a full refresh, or putting the column back, goes on",
    long=True,
)
def test_columns_change_their_type_between_syncs(stand: OpenStand) -> None:
    desk = stand(
        """
        - "public.amounts:at:timestamp!upsert"
        - "public.readings:at:timestamp!append"
        - "public.names:at:timestamp!upsert"
        - {table: public.frozen, cursor: {column: at, type: timestamp}, strategy: upsert, schema_changes: freeze}
        """,
        "CREATE TABLE amounts (id int PRIMARY KEY, amount int, at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE readings (id int PRIMARY KEY, value numeric(8,2), at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE names (id int PRIMARY KEY, name varchar(5), at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE frozen (id int PRIMARY KEY, name text, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO amounts VALUES (1, 100)",
        "INSERT INTO readings VALUES (1, 1.25)",
        "INSERT INTO names VALUES (1, 'ada')",
        "INSERT INTO frozen VALUES (1, 'ada')",
    )
    names = ("amounts", "readings", "names", "frozen")
    desk.land()
    before, versions = {name: desk.copy(name) for name in names}, {name: desk.versions(name) for name in names}
    desk.execute(
        "ALTER TABLE amounts ALTER COLUMN amount TYPE bigint",
        "ALTER TABLE readings ALTER COLUMN value TYPE numeric(12,4)",
        "ALTER TABLE names ALTER COLUMN name TYPE text",
        "ALTER TABLE frozen ADD COLUMN colour text",
        "INSERT INTO amounts VALUES (2, 5000000000)",
        "INSERT INTO readings VALUES (2, 1.2345)",
        "INSERT INTO names VALUES (2, 'ada lovelace')",
        "INSERT INTO frozen VALUES (2, 'alan', now(), 'red')",
    )
    reports = desk.sync()
    assert_told(reports["amounts"], "amount was int and is bigint", "--full-refresh")
    assert_told(reports["readings"], "value was decimal(8,2) and is decimal(12,4)", "--full-refresh")
    assert_told(reports["frozen"], "colour is new", "schema_changes: freeze")
    assert reports["names"].status is Status.LANDED
    for name in ("amounts", "readings", "frozen"):
        assert (desk.copy(name), desk.versions(name)) == (before[name], versions[name])

    desk.execute("ALTER TABLE frozen DROP COLUMN colour")
    desk.land("amounts", "readings", mode=Mode.FULL_REFRESH)
    desk.land("frozen")
    for name in names:
        desk.assert_equal(name)
    desk.assert_tidy(*names)


AT = "at timestamptz NOT NULL DEFAULT now()"
ALTERED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # table: (its columns, its first row, what is done to it between the plan and the read)
    "retyped": (
        f"id int PRIMARY KEY, value numeric(8,2), {AT}",
        "(1, 1.25)",
        ("ALTER TABLE retyped ALTER COLUMN value TYPE numeric(12,4)", "INSERT INTO retyped VALUES (2, 1.2345)"),
    ),
    "zoned": (
        f"id int PRIMARY KEY, value timestamp, {AT}",
        "(1, '2024-01-01T12:00:00')",
        (
            "SET TimeZone = 'America/New_York'; ALTER TABLE zoned ALTER COLUMN value TYPE timestamptz",
            "INSERT INTO zoned VALUES (2, '2024-01-01T12:00:00Z')",
        ),
    ),
    "added": (
        f"id int PRIMARY KEY, value int, {AT}",
        "(1, 1)",
        ("ALTER TABLE added ADD COLUMN colour text", "INSERT INTO added (id, value, colour) VALUES (2, 2, 'red')"),
    ),
    "dropped": (
        f"id int PRIMARY KEY, value int, {AT}",
        "(1, 1)",
        ("ALTER TABLE dropped DROP COLUMN value", "INSERT INTO dropped VALUES (2)"),
    ),
    "swapped": (
        f"id int PRIMARY KEY, a text, b text, {AT}",
        "(1, 'a', 'b')",
        (
            "ALTER TABLE swapped RENAME a TO c",
            "ALTER TABLE swapped RENAME b TO a",
            "ALTER TABLE swapped RENAME c TO b",
            "INSERT INTO swapped (id, a, b) VALUES (2, 'new a', 'new b')",
        ),
    ),
    "unkeyed": (
        f"id int PRIMARY KEY, value int, {AT}",
        "(1, 1)",
        (
            "ALTER TABLE unkeyed DROP CONSTRAINT unkeyed_pkey",
            "INSERT INTO unkeyed VALUES (2, 2), (2, 22)",
        ),
    ),
    "anew": (
        f"id int PRIMARY KEY, value int, {AT}",
        "(1, 1)",
        (
            f"DROP TABLE anew; CREATE TABLE anew (id int PRIMARY KEY, value int, {AT})",
            "INSERT INTO anew VALUES (1, 1), (2, 2)",
        ),
    ),
}


@scenario(
    "T16",
    "Two columns of one type exchange their names between two syncs, and one row of three is written; in another table a column is dropped and made anew under its name",
    holds="nothing is written that mixes old values with new ones: names are exchanged in the copy as well, by one commit; the table with a column made anew stops in one sentence, and goes on after a full refresh",
)
def test_columns_exchange_their_names(stand: OpenStand) -> None:
    columns = "id int PRIMARY KEY, a text, b text, at timestamptz NOT NULL DEFAULT now()"
    desk = stand(
        '["public.swapped:at:timestamp!upsert", "public.again:at:timestamp!append"]',
        *(f"CREATE TABLE {name} ({columns})" for name in ("swapped", "again")),
        *(
            f"INSERT INTO {name} SELECT g, 'a', 'b', {OLD} FROM generate_series(1, 3) AS g"
            for name in ("swapped", "again")
        ),
    )
    desk.land()
    before = desk.copy("again"), desk.versions("again")
    desk.execute(
        "ALTER TABLE swapped RENAME a TO c",
        "ALTER TABLE swapped RENAME b TO a",
        "ALTER TABLE swapped RENAME c TO b",
        "UPDATE swapped SET at = now() WHERE id = 1",
        "ALTER TABLE again DROP a",
        "ALTER TABLE again ADD a text",
        "INSERT INTO again VALUES (4, 'b', now(), 'a')",
    )
    reports = desk.sync()

    assert (reports["swapped"].error, reports["swapped"].rows.read) == (None, 1)
    desk.assert_equal("swapped", "SELECT id, b, a, at FROM swapped")
    assert_told(reports["again"], "'a' now names another column", "--full-refresh")
    assert (desk.copy("again"), desk.versions("again")) == before
    desk.land("again", mode=Mode.FULL_REFRESH)
    desk.assert_equal("again", "SELECT id, a, b, at FROM again")


@scenario(
    "T16",
    "In the middle of a sync, after it was planned and before it reads, a column is retyped (digits, time zone), added, dropped or swapped "
    "with another, the primary key is dropped, the table is dropped and made anew; each with new rows",
    holds="no wrong value lands: what cannot land right is refused in one sentence, and the next sync lands or refuses it in one sentence",
    bugs=("airbyte #80920",),
    long=True,
)
def test_columns_change_between_plan_and_read(stand: OpenStand) -> None:
    desk = stand(
        "\n".join(f'- "public.{name}:at:timestamp!upsert"' for name in ALTERED),
        *(f"CREATE TABLE {name} ({columns})" for name, (columns, _, _) in ALTERED.items()),
        *(f"INSERT INTO {name} VALUES {row}" for name, (_, row, _) in ALTERED.items()),
    )
    desk.land()
    before = {name: desk.copy(name) for name in ALTERED}
    desk.execute(*(f"UPDATE {name} SET at = now()" for name in ALTERED))

    def alter(name: str) -> Callable[[], object]:
        return lambda: desk.execute(*ALTERED[name][2])

    changed = desk.sync(through=before_the_read({name: alter(name) for name in ALTERED}))
    for name, report in changed.items():
        if report.error is not None:
            assert_told(report, name)
            assert [row[:-1] for row in desk.copy(name)] == [row[:-1] for row in before[name]], name
    after = desk.sync()

    assert_told(after["retyped"], "value was decimal(8,2) and is decimal(12,4)")
    assert_told(after["zoned"], "value was timestamp_ntz and is timestamp")
    assert_told(after["unkeyed"], "primary key") if "unkeyed" in after else _told_by_name(
        desk, "unkeyed", "primary key"
    )
    desk.assert_equal("added", "SELECT id, value, at, colour FROM added")
    assert desk.copy("dropped", "id", "value") == [(1, 1), (2, None)]
    assert after["swapped"].error is None
    desk.assert_equal("swapped", "SELECT id, b, a, at FROM swapped")
    desk.assert_equal("anew")


def _told_by_name(desk: Stand, name: str, words: str) -> None:
    """The table cannot be resolved any more, which every command reports by its name."""
    with desk.runtime() as runtime:
        told = [str(problem.error) for problem in runtime.specs("shop").problems]
    assert [text for text in told if name in text and words in text], told


@scenario(
    "T16",
    "The first sync of a table begins while an ALTER TABLE that rewrites it is under way, and reads when that has been committed",
    holds="not one row is missed, although PostgreSQL shows such a table as empty to whoever looked before",
)
def test_a_table_is_rewritten_while_a_sync_begins(stand: OpenStand) -> None:
    desk = stand(
        '- "public.orders:at:timestamp!upsert"',
        "CREATE TABLE orders (id int PRIMARY KEY, at timestamptz NOT NULL)",
        f"INSERT INTO orders VALUES (1, {OLD}), (2, {OLD})",
    )
    altering = desk.shop.connect()

    def begin() -> None:
        altering.execute("ALTER TABLE orders SET UNLOGGED")
        waiting.start()

    def finish() -> None:
        # Committed as soon as the sync waits for the table.
        with desk.shop.connect() as looking:
            looking.autocommit = True
            waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'orders'::regclass"
            deadline = time.monotonic() + 60
            while looking.execute(waits).fetchone() is None and time.monotonic() < deadline:
                time.sleep(0.02)
        altering.commit()

    waiting = threading.Thread(target=finish)
    first = desk.sync(through=before_the_read({"orders": begin}))["orders"]
    waiting.join()
    altering.close()
    if first.error is not None:
        assert_told(first, "orders")
    desk.land()

    desk.assert_equal("orders")
