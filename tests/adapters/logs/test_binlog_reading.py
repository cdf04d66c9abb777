"""A range of a binlog, from a real server to what a copy gets of it: nothing is missing, nothing comes twice, and what may be missing is named."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

import pytest

from incremental_assets.core.errors import IncrementalAssetsError, LakeRefused, SourceExchanged, SourceRefused
from tests.adapters.logs.mirror import Mirror, address_of
from tests.adapters.logs.moments import Died
from tests.conformance.worlds import MariaWorld

TEN = "(WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 10) SELECT n FROM g) g"


def loaded(world: MariaWorld) -> Mirror:
    world.execute(f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {TEN}")
    mirror = Mirror.of(world)
    assert mirror.sync() == "load"
    return mirror


def refused(act: Callable[[], object], kind: type[IncrementalAssetsError] = SourceRefused) -> str:
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


def test_inserts_updates_deletes_and_moved_keys_come_once(world: MariaWorld) -> None:
    mirror = loaded(world)
    with closing(world.session()) as session:
        session.run(
            "UPDATE orders SET id = -1 WHERE id = 1",
            "UPDATE orders SET id = 1 WHERE id = 2",
            "UPDATE orders SET id = 2 WHERE id = -1",
            "INSERT INTO orders VALUES (50, 'at once', 1, NULL)",
            "DELETE FROM orders WHERE id = 50",
            "SAVEPOINT here",
            "INSERT INTO orders VALUES (51, 'undone', 1, NULL)",
            "ROLLBACK TO here",
            "DELETE FROM orders WHERE id = 9",
        )
        session.commit()
    with closing(world.session()) as session:
        session.run("DELETE FROM orders")
        session.rollback()
    assert mirror.sync() == "changes"
    assert mirror.rows == mirror.truth()
    assert mirror.sync() == "idle"


def test_a_death_at_any_step_neither_loses_nor_repeats_a_change(world: MariaWorld) -> None:
    mirror = loaded(world)
    for number in range(1, 20):
        world.execute(
            f"INSERT INTO orders VALUES ({100 + number}, 'new', 1, NULL)", "UPDATE orders SET total = total + 1"
        )
        passed: list[str] = []

        def moment(name: str, passed: list[str] = passed, number: int = number) -> None:
            passed.append(name)
            if len(passed) == number:
                raise Died(name)

        mirror.log = replace(mirror.log, moment=moment)
        with suppress(Died):
            mirror.sync()
        mirror.log = replace(mirror.log, moment=lambda _: None)
        mirror.sync()
        assert mirror.rows == mirror.truth()
        if len(passed) < number:
            break
    assert passed == ["read", "decode", "write", "finish", "end"]


def test_loads_under_writers_join_the_log_at_any_moment(world: MariaWorld) -> None:
    mirror = loaded(world)
    done = threading.Event()

    def write(seed: int) -> None:
        """Rows that nobody writes again, so that one which is missed stays missed; some of them go later."""
        chance, number = random.Random(seed), seed * 1_000_000
        with closing(world.session()) as session:
            while not done.is_set():
                number += 1
                session.run(
                    f"INSERT INTO orders VALUES ({number}, 'w{seed}', 1, NULL)",
                    f"DELETE FROM orders WHERE id = {number - chance.randint(1, 30)}",
                )
                session.rollback() if chance.random() < 0.2 else session.commit()

    writers = [threading.Thread(target=write, args=(seed,)) for seed in range(1, 5)]
    for each in writers:
        each.start()
    try:
        others = []
        for _ in range(5):
            mirror.sync(again=True)
            # It goes on beside the writers from wherever it was loaded.
            mirror.sync()
            others.append(replace(mirror, rows=dict(mirror.rows)))
    finally:
        done.set()
        for each in writers:
            each.join()
    for each in (mirror, *others):
        each.sync()
        assert each.rows == mirror.truth()


def test_a_table_that_is_emptied_leaves_the_copy_but_for_what_came_after(world: MariaWorld) -> None:
    mirror = loaded(world)
    world.execute("TRUNCATE TABLE orders", "INSERT INTO orders VALUES (3, 'after', 1, NULL)")
    mirror.sync()
    assert mirror.rows == mirror.truth()
    assert len(mirror.rows) == 1


@pytest.mark.parametrize(
    ("statement", "back"),
    [
        ("ALTER TABLE orders ADD COLUMN more int", "ALTER TABLE orders DROP COLUMN more"),
        ("RENAME TABLE orders TO others", "RENAME TABLE others TO orders"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", ""),
        ("CREATE INDEX i ON orders (total)", ""),
        ("ALTER TABLE orders ADD KEY k (status)", ""),
        ("OPTIMIZE TABLE orders", ""),
    ],
)
def test_a_statement_that_may_have_altered_rows_stops_the_table_by_name(
    world: MariaWorld, statement: str, back: str
) -> None:
    mirror = loaded(world)
    world.execute(statement)
    if not back:
        mirror.sync()
        assert mirror.rows == mirror.truth()
        return
    world.execute(back)
    sentence = refused(mirror.sync)
    assert sentence.startswith(f"shop.{world.database}.orders: a statement has altered, renamed, dropped or made it (")
    assert mirror.sync(again=True) == "load"
    world.execute("DELETE FROM orders WHERE id = 1")
    mirror.sync()
    assert mirror.rows == mirror.truth()


def test_changes_that_a_session_writes_as_statements_stop_all_tables_by_name(world: MariaWorld) -> None:
    mirror = loaded(world)
    with closing(world.open()) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_format = STATEMENT")
        cursor.execute("UPDATE orders SET total = 0")
    assert "a session has written to the log by statements (UPDATE orders)" in refused(mirror.sync)
    mirror.sync(again=True)
    assert mirror.rows == mirror.truth()


def test_rows_without_all_columns_stop_their_table_by_name(world: MariaWorld) -> None:
    mirror = loaded(world)
    with closing(world.open()) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_row_image = MINIMAL")
        cursor.execute("UPDATE orders SET total = 0")
    assert "a session has written rows without all of their columns" in refused(mirror.sync)


def test_a_transaction_that_was_prepared_stops_the_tables_by_name(world: MariaWorld) -> None:
    mirror = loaded(world)
    with closing(world.open()) as connection, connection.cursor() as cursor:
        for statement in ("XA START 'x'", "UPDATE orders SET total = 0", "XA END 'x'", "XA PREPARE 'x'"):
            cursor.execute(statement)
        assert "a transaction was committed that had been prepared before" in refused(mirror.sync)
        mirror.sync(again=True)
        cursor.execute("XA COMMIT 'x'")
    assert "a transaction was committed that had been prepared before" in refused(mirror.sync)
    mirror.sync(again=True)
    assert mirror.rows == mirror.truth()


@contextmanager
def set_globally(world: MariaWorld, name: str, value: str) -> Iterator[None]:
    ((before,),) = world.rows(f"SELECT @@global.{name}")
    world.execute(f"SET GLOBAL {name} = '{value}'")
    try:
        yield
    finally:
        world.execute(f"SET GLOBAL {name} = '{before}'")


@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [
        ("binlog_format", "MIXED", "SET GLOBAL binlog_format = ROW"),
        ("binlog_row_image", "MINIMAL", "SET GLOBAL binlog_row_image = FULL"),
        ("binlog_row_metadata", "MINIMAL", "SET GLOBAL binlog_row_metadata = FULL"),
    ],
)
def test_a_log_that_does_not_tell_of_rows_is_refused(world: MariaWorld, name: str, value: str, cure: str) -> None:
    mirror = loaded(world)
    with set_globally(world, name, value):
        assert cure in refused(mirror.sync)
    assert mirror.sync() in ("changes", "idle")


def test_packed_events_stop_the_read_and_a_load_begins_behind_them(world: MariaWorld) -> None:
    if world.title == "MySQL":
        pytest.skip("8.0.12 packs none")
    mirror = loaded(world)
    with closing(world.open()) as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL log_bin_compress = ON")
        cursor.execute("SET GLOBAL log_bin_compress_min_len = 10")
    assert "SET GLOBAL log_bin_compress = OFF" in refused(mirror.sync)
    world.execute("INSERT INTO orders VALUES (60, 'x', 1, repeat('x', 3000))", "SET GLOBAL log_bin_compress = OFF")
    assert "log_bin_compress is on" in refused(mirror.sync)
    assert mirror.sync(again=True) == "load"
    world.execute("DELETE FROM orders WHERE id = 60")
    mirror.sync()
    assert mirror.rows == mirror.truth()


def test_children_of_keys_that_cascade_are_refused(world: MariaWorld) -> None:
    world.execute(
        "CREATE TABLE parents (id int PRIMARY KEY)",
        "ALTER TABLE orders ADD COLUMN parent int, ADD FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE",
    )
    assert "a foreign key of it deletes or changes its rows" in refused(Mirror.of(world).sync)


def test_a_log_that_is_purged_or_begun_anew_is_told(world: MariaWorld) -> None:
    mirror = loaded(world)
    world.execute("FLUSH BINARY LOGS", "INSERT INTO orders VALUES (70, 'x', 1, NULL)")
    ((last, *_),) = world.rows("SHOW MASTER STATUS")
    while world.rows("SHOW BINARY LOGS")[0][0] != last:
        # A file that may still be needed after a crash stays for a moment.
        world.execute(f"PURGE BINARY LOGS TO '{last}'")
    assert "the server has purged its binlog from where it was read to" in refused(mirror.sync, SourceExchanged)
    mirror.sync(again=True)
    assert mirror.rows == mirror.truth()
    world.execute("RESET MASTER", "DELETE FROM orders WHERE id = 70")
    assert "the binlog does not have what was read of it any more" in refused(mirror.sync, SourceExchanged)
    other = replace(mirror)
    mirror.sync(again=True)
    assert "load it again" in refused(other.sync)
    world.execute("INSERT INTO orders VALUES (71, 'x', 1, NULL)")
    mirror.sync()
    assert mirror.rows == mirror.truth()


def test_files_that_follow_each_other_and_a_server_that_crashes_are_read_on(world: MariaWorld) -> None:
    mirror = loaded(world)
    for number in range(3):
        world.execute(f"INSERT INTO orders VALUES ({80 + number}, 'x', 1, NULL)", "FLUSH BINARY LOGS")
    world.crash()
    # It may have come up at another port.
    mirror.log = replace(mirror.log, address=address_of(world))
    world.execute("UPDATE orders SET total = 5")
    mirror.sync()
    assert mirror.rows == mirror.truth()


def test_a_folder_that_lost_its_record_is_told(world: MariaWorld) -> None:
    mirror = loaded(world)
    (mirror.log.folder / "followed.json").unlink()
    world.execute("DELETE FROM orders WHERE id = 1")
    assert "has no record of it" in refused(mirror.sync, LakeRefused)
    mirror.sync(again=True)
    assert mirror.rows == mirror.truth()


@pytest.mark.parametrize("lost", ["", "segments"])
def test_a_folder_that_was_lost_is_told_also_where_the_log_began_anew_before(world: MariaWorld, lost: str) -> None:
    world.execute("CREATE TABLE items (id int PRIMARY KEY)")
    world.configure("- {table: {s}.orders, capture: log}\n- {table: {s}.items, capture: log}")
    orders, items = loaded(world), Mirror.of(world, "items")
    # Places of the log are later ones from then on, and come to the first ones again in a new folder.
    world.execute("RESET MASTER")
    orders.sync(again=True)
    items.sync()
    shutil.rmtree(orders.log.folder / lost)
    (orders.log.folder / "standing.json").unlink(missing_ok=True)
    world.execute("INSERT INTO items VALUES (1)")
    refused(items.sync, LakeRefused)
    before = replace(orders)
    orders.sync(again=True)
    # A copy that is taken back to before is none of the new folder either.
    refused(before.sync, LakeRefused)
    refused(items.sync, LakeRefused)
    assert items.rows == {}
    items.sync(again=True)
    world.execute("INSERT INTO items VALUES (2)")
    assert items.sync() == "changes"
    assert items.rows == items.truth()


HARMLESS: tuple[tuple[str, ...], ...] = (
    ("CREATE TABLE other LIKE orders", "INSERT INTO other VALUES (1, 'x', 1, NULL)"),
    (
        "CREATE TEMPORARY TABLE orders_now SELECT * FROM orders",
        "UPDATE orders_now SET total = 0",
        "DROP TEMPORARY TABLE orders_now",
    ),
    ("CREATE TABLE plain (id int) ENGINE = MyISAM", "INSERT INTO plain VALUES (1), (2)", "DROP TABLE plain"),
    (
        "BEGIN",
        "SAVEPOINT here",
        "DELETE FROM orders",
        "ROLLBACK TO here",
        "UPDATE orders SET total = 7 WHERE id = 2",
        "COMMIT",
    ),
    ("CREATE VIEW shown AS SELECT * FROM orders", "DROP VIEW shown"),
    ("CREATE PROCEDURE more() UPDATE orders SET total = total + 1", "CALL more()", "DROP PROCEDURE more"),
    (
        "CREATE TRIGGER beside AFTER UPDATE ON orders FOR EACH ROW DELETE FROM other",
        "UPDATE orders SET total = 8 WHERE id = 3",
        "DROP TRIGGER beside",
    ),
    ("CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM orders", "DROP EVENT nightly"),
    ("CREATE TABLE parts (id int) PARTITION BY HASH (id) PARTITIONS 2", "ALTER TABLE parts TRUNCATE PARTITION p0"),
    ("GRANT SELECT ON orders TO reader@'127.0.0.1'", "ANALYZE TABLE orders", "FLUSH TABLES", "FLUSH BINARY LOGS"),
    (
        "REPLACE INTO orders VALUES (4, 'again', 4, NULL)",
        "INSERT INTO orders SELECT id + 100, status, total, note FROM orders",
    ),
)


def test_whatever_else_a_server_writes_to_its_log_stops_nothing(world: MariaWorld) -> None:
    mirror = loaded(world)
    for statements in HARMLESS:
        with closing(world.open()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        mirror.sync()
    assert mirror.rows == mirror.truth()
    assert len(mirror.rows) == 20
