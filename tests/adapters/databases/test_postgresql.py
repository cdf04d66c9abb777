"""PostgreSQL keeps the contract of all databases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql import described
from incremental_assets.adapters.databases.postgresql.rows import key_ranges
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.read_keys import ReadKeys
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.differences.gone import gone_keys
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.key_parts import KeyParts, KeySpread
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import ByteHashed, Windowed
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.databases.collation_contract import *  # noqa: F403 - of keys that are written in several ways
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.contract import Words, orders, spec_of
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys
from tests.adapters.databases.keys_contract import keys_of
from tests.adapters.databases.mask_contract import *  # noqa: F403 - of columns that are masked
from tests.adapters.databases.names_contract import *  # noqa: F403 - of columns that the copy names otherwise
from tests.adapters.databases.places_contract import *  # noqa: F403 - of rows by their keys
from tests.adapters.databases.ranges_contract import *  # noqa: F403 - of ranges of a key
from tests.adapters.databases.settings_contract import *  # noqa: F403 - of what is set against us
from tests.adapters.databases.stamps_contract import *  # noqa: F403 - of who stamps
from tests.adapters.databases.stamps_contract import Stamps
from tests.adapters.databases.where_contract import *  # noqa: F403 - of rows that are chosen


def touch_function(column: str) -> str:
    return f"CREATE OR REPLACE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.{column} := now(); RETURN NEW; END$$"


def touch_trigger(table: str) -> str:
    return f"CREATE TRIGGER touch BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION touch()"


WORDS = Words(
    "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "timestamptz",
    CursorType.TIMESTAMP,
    "numeric(5,2)",
    "'NaN'",
    spellings=(
        ("numeric", "1.0", "1.00"),
        ("double precision", "0.0", "'-0'"),
        ("interval", "'1 day'", "'24:00:00'"),
        ("bpchar", "'a'", "'a  '"),
        ("jsonb", "'{\"a\": [1.0]}'", "'{\"a\": [1.00]}'"),
        ("numeric[]", "'{1.0,2}'", "'{1,2.00}'"),
        ("numrange", "'[1.0,2)'", "'[1.00,2.0)'"),
    ),
    cascade=" CASCADE",
    touching=f"{touch_function('updated_at')};;{touch_trigger('orders')}",
)

SET = {
    "another language": (
        "DateStyle = 'SQL, DMY'",
        "IntervalStyle = 'sql_standard'",
        "bytea_output = 'escape'",
        "extra_float_digits = -15",
        "standard_conforming_strings = off",
        "quote_all_identifiers = on",
    ),
}
"""What an administrator may set for every session of a database or of a role."""
ODD = {
    "kinds": (
        "CREATE TABLE kinds (id int PRIMARY KEY, at timestamptz, since interval, raw bytea, share double precision, words text[])",
        r"INSERT INTO kinds VALUES (1, '2024-03-31 01:30:00Z', '1 year 2 mons 3 days 04:05:06', '\x00ff5c', 0.1, '{a,\"b c\",NULL}'), (2, NULL, NULL, NULL, 'NaN', NULL)",
    ),
}


@dataclass(frozen=True)
class Server:
    """A database of the embedded server."""

    postgres: EmbeddedPostgres
    database: str
    words: Words = WORDS

    @property
    def address(self) -> Address:
        return self._at(self.database)

    def execute(self, *statements: str) -> None:
        connection = self._connect()
        connection.autocommit = True
        for statement in statements:
            connection.execute(statement.encode())
        connection.close()

    @contextmanager
    def writing(self, statement: str) -> Iterator[Callable[[], None]]:
        connection = self._connect()
        connection.execute(statement.encode())
        yield connection.commit
        connection.close()

    def elsewhere(self) -> Address:
        self.postgres.create_database(f"{self.database}_other")
        return self._at(f"{self.database}_other")

    def scanned(self, table: str) -> tuple[int, int]:
        """How often the whole table was read, and how many entries of its indexes, by sessions that have ended."""
        with self._connect() as asked:
            self.until_ended(asked)
            found = asked.execute(
                "SELECT t.seq_scan, sum(i.idx_tup_read)::bigint FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i USING (relid) "
                "WHERE t.relname = %s GROUP BY 1",
                [table],
            ).fetchone()
        assert found is not None
        return found[0], found[1]

    @property
    def hostile(self) -> Sequence[str]:
        return tuple(SET)

    @property
    def odd(self) -> Mapping[str, Sequence[str]]:
        return ODD

    @contextmanager
    def under(self, name: str) -> Iterator[None]:
        """As the database sets it for every session to come."""
        self.execute(*(f"ALTER DATABASE {self.database} SET {each}" for each in SET[name]))
        try:
            yield
        finally:
            self.execute(f"ALTER DATABASE {self.database} RESET ALL")

    def until_ended(self, asked: psycopg.Connection[Any]) -> None:
        """Wait for the other sessions here, which tell what they have read as they end."""
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        )
        asked.autocommit = True
        until = time.monotonic() + 30
        while asked.execute(others).fetchone() != (0,):
            assert time.monotonic() < until, "sessions of this test have not ended"
            time.sleep(0.01)

    def forget_scans(self) -> None:
        with self._connect() as asked:
            self.until_ended(asked)
            asked.execute("SELECT pg_stat_reset()")

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.postgres.dsn(self.database))

    def _at(self, database: str) -> Address:
        user = self.postgres.user
        return Address(
            "postgresql", "127.0.0.1", self.postgres.port, database, user, self.postgres.password_of(user) or ""
        )


@pytest.fixture
def stamps() -> Stamps:
    return Stamps(
        "date_trunc('hour', now())",
        "now() - interval '1 hour'",
        triggers=lambda table: (touch_function("at"), touch_trigger(table)),
        off=lambda table: (f"ALTER TABLE {table} DISABLE TRIGGER touch",),
        again=lambda table: (f"ALTER TABLE {table} ENABLE TRIGGER touch",),
        renumbered=(
            "CREATE FUNCTION renumber() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.id := NEW.id - 1000; RETURN NEW; END$$",
            "CREATE TRIGGER renumbers BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION renumber()",
        ),
        writes=lambda statement: (
            f"CREATE FUNCTION write() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {statement}; RETURN NULL; END$$",
            "CREATE TRIGGER writes AFTER INSERT ON others FOR EACH ROW EXECUTE FUNCTION write()",
        ),
    )


@pytest.fixture
def world(postgres: EmbeddedPostgres, database: str) -> Server:
    return Server(postgres, database)


@pytest.mark.acceptance
@pytest.mark.parametrize("patience", ["1s", "known-bad: 0"])
@pytest.mark.parametrize("locked", ["busy", "busy_1"])
def test_a_table_that_another_session_has_locked_is_named_and_the_others_are_described(
    world: Server, monkeypatch: pytest.MonkeyPatch, locked: str, patience: str
) -> None:
    waits = patience.startswith("known-bad")
    monkeypatch.setattr(described, "_MOMENT", patience.removeprefix("known-bad: "))
    orders(world)
    world.execute(
        "CREATE TABLE busy (id bigint DEFAULT 1, at date) PARTITION BY RANGE (id)",
        "CREATE TABLE busy_1 PARTITION OF busy FOR VALUES FROM (0) TO (10)",
    )
    probe = SqlProbe(replace(world.address, statement_timeout=timedelta(seconds=3)), "shop")
    with world.writing(f"LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE"):
        if waits:
            with pytest.raises(SourceRefused, match="cancelled the query after 3s"):
                probe.catalogue()
        else:
            found = {shape.id.name: shape for shape in probe.catalogue()}
            assert found.keys() == {"orders", "busy"}
            assert "another session holds a lock on it" in found["busy"].undescribed
            assert found["orders"].names == ("id", "note", "updated_at")
            assert found["orders"].undescribed == ""
            facts = probe.facts([Wanted(found["busy"].id), Wanted(found["orders"].id)])
            assert [(each.exists, each.readable) for each in facts.tables] == [(True, True), (True, True)]
    assert {shape.id.name: shape.undescribed for shape in probe.catalogue()} == {"orders": "", "busy": ""}
    probe.close()


def test_a_locked_table_without_a_grant_is_told_once(world: Server) -> None:
    world.execute(
        "CREATE TABLE secret (id bigint)",
        "DROP ROLE IF EXISTS onlooker",
        "CREATE ROLE onlooker LOGIN PASSWORD 'looks on'",
    )
    probe = SqlProbe(replace(world.address, user="onlooker", password="looks on"), "shop")
    with world.writing("LOCK TABLE secret IN ACCESS EXCLUSIVE MODE"):
        found = probe.catalogue()
    probe.close()
    assert [(shape.id.name, shape.readable, shape.undescribed) for shape in found] == [("secret", False, "")]


def test_a_key_that_no_copy_can_hold_has_no_text_and_no_hash(world: Server) -> None:
    world.execute(
        "CREATE TABLE stays (at timestamptz, no numeric(5,2), updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (at, no))",
        "INSERT INTO stays VALUES ('infinity', 1), ('2024-01-01Z', 'NaN'), ('-infinity', 'NaN'), ('2024-01-01Z', 1)",
    )
    with keys_of(world, spec_of(world, "stays")) as keys:
        whole = KeyParts(0, 2**60 - 1)
        assert keys.texts(whole) == {"1704067200000000,1.00"}
        assert sum(found.rows for found in keys.sums(whole, 56).values()) == 1
        assert keys.present(frozenset({"1704067200000000,1.00", "~"})) == {"1704067200000000,1.00"}


def test_a_value_has_the_text_that_the_server_prints_whatever_function_a_user_has_made_the_cast_of(
    world: Server,
) -> None:
    world.execute(
        "CREATE TYPE mood AS ENUM ('ok', 'bad')",
        "CREATE FUNCTION says(mood) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT text 'the same'$$",
        "CREATE CAST (mood AS text) WITH FUNCTION says(mood)",
        "CREATE TABLE moods (mood mood PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO moods VALUES ('ok'), ('bad')",
    )
    with keys_of(world, spec_of(world, "moods")) as keys:
        assert keys.texts(KeyParts(0, 2**60 - 1)) == {"2:ok", "3:bad"}


def test_where_rows_are_stored_changes_when_a_table_is_truncated_and_not_when_rows_do(world: Server) -> None:
    spec = orders(world)
    world.execute(
        "CREATE TABLE parted (id int PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (id)",
        "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10)",
        "CREATE MATERIALIZED VIEW seen AS SELECT * FROM orders",
    )

    def compared(name: str) -> KeysCompared:
        with keys_of(world, spec if name == "orders" else spec_of(world, name, key=("id",))) as keys:
            return KeysCompared(datetime(2024, 1, 1, tzinfo=UTC), keys.storage)

    before = {name: compared(name) for name in ("orders", "parted", "seen")}
    world.execute(
        "DELETE FROM orders WHERE id = 1",
        "REFRESH MATERIALIZED VIEW seen",
        "CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20)",
    )
    assert not any(before[name].rewritten(compared(name).storage) for name in before)
    world.execute("TRUNCATE orders", "TRUNCATE parted_1")
    rewritten = {name: before[name].rewritten(compared(name).storage) for name in before}
    assert rewritten == {"orders": True, "parted": True, "seen": False}


class Remembered:
    """A copy that holds every key from 1 on."""

    def __init__(self, spec: TableSpec, rows: int) -> None:
        self._rows, self._keys = rows, ReadKeys.of(spec, map(str, range(1, rows + 1)))
        self.sums, self.texts, self.by_bytes = self._keys.sums, self._keys.texts, self._keys.by_bytes

    def spread(self) -> KeySpread:
        return KeySpread(self._rows, 1, self._rows)


def test_a_hundred_deletes_cost_less_than_two_reads_of_the_keys_index_and_none_of_the_table(world: Server) -> None:
    world.execute(
        "CREATE TABLE sales (id bigint PRIMARY KEY, price numeric(12,2), note text, day date, updated_at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO sales SELECT n, n * 1.25, 'note number ' || n, date '2020-01-01' FROM generate_series(1, 100000) AS n",
        "DELETE FROM sales WHERE id % 1000 = 7",
        "VACUUM ANALYZE sales",
    )
    spec = spec_of(world, "sales")
    world.forget_scans()
    with keys_of(world, spec) as keys:
        found = gone_keys(Remembered(spec, 100_000), keys)  # type: ignore[arg-type]
    assert found == {str(number) for number in range(7, 100_000, 1000)}
    of_table, of_index = world.scanned("sales")
    assert of_table == 0
    assert 100_000 < of_index < 2 * 100_000


@pytest.mark.acceptance
def test_rows_of_some_hundred_ranges_are_hashed_from_range_to_range_by_the_index(world: Server) -> None:
    world.execute(
        "CREATE TABLE sales (id bigint PRIMARY KEY, price numeric(12,2), day date, updated_at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO sales (id, price, day) SELECT n, n * 1.25, '2024-01-01' FROM generate_series(1, 1000000) AS n",
        "VACUUM ANALYZE sales",
    )
    spec = spec_of(world, "sales")
    probe = SqlProbe(world.address, "shop")
    some = KeyParts(1, 1_000_000, 5, frozenset(range(0, 30_000, 60)))
    world.forget_scans()
    with probe.placed_rows(spec, (Window(None, None),)) as rows:
        assert rows is not None
        by_bytes = rows.by_bytes() if isinstance(rows, ByteHashed) else None
        assert by_bytes is not None
        assert sum(found.rows for found in by_bytes.sums(some, 2).values()) == len(rows.hashes(some)) == 500 * 32 - 1
    probe.close()
    of_table, of_index = world.scanned("sales")
    assert (of_table, of_index) == (0, 2 * (500 * 32 - 1))


def test_where_a_step_takes_longer_than_a_statement_may_the_table_is_not_read_in_ranges(
    world: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.execute(
        "CREATE TABLE slow (id bigint PRIMARY KEY, at timestamptz NOT NULL)",
        "INSERT INTO slow SELECT n, now() FROM generate_series(1, 9) AS n",
        "ANALYZE slow",
    )
    spec = replace(spec_of(world, "slow"), cursor=Cursor("at", CursorType.TIMESTAMP))
    probe = SqlProbe(replace(world.address, statement_timeout=timedelta(milliseconds=500)), "shop")
    assert probe.key_ranges(spec, None, 100) is not None
    monkeypatch.setattr(
        key_ranges, "relation", lambda _: "(SELECT * FROM public.slow WHERE pg_sleep(30) IS NOT NULL) AS t"
    )
    assert probe.key_ranges(spec, None, 100) is None
    assert probe.key_ends(spec) == (1, 9)
    probe.close()


def test_the_ends_of_a_key_are_told_by_its_index_and_each_row_in_its_window(world: Server) -> None:
    world.execute(
        "CREATE TABLE sales (id bigint PRIMARY KEY, code text UNIQUE NOT NULL, at timestamptz NOT NULL)",
        "INSERT INTO sales SELECT n - 3, n, '2024-01-01Z'::timestamptz + n * interval '1 day' FROM generate_series(1, 9) AS n",
        "CREATE TABLE nothing (id int PRIMARY KEY, at timestamptz)",
    )
    spec = replace(spec_of(world, "sales"), cursor=Cursor("at", CursorType.TIMESTAMP))
    probe = SqlProbe(world.address, "shop")
    assert probe.key_ends(spec) == (-2, 6)
    assert probe.key_ends(replace(spec, key=("code",))) is None
    assert probe.key_ends(replace(spec, key_enforced=False)) is None
    assert probe.key_ends(replace(spec_of(world, "nothing"), cursor=None)) is None
    third, fifth, eighth = (CursorValue.parse(CursorType.TIMESTAMP, f"2024-01-0{day}T00:00:00Z") for day in (3, 5, 8))
    windows = (Window(None, third), Window(third, fifth), Window(eighth, None))
    with probe.placed_rows(spec, windows) as rows:
        assert isinstance(rows, Windowed)
        numbers = {place: number for place, _, number in rows.windowed(KeyParts(-2, 6)) or ()}
    probe.close()
    assert numbers == {-2: 0, -1: 1, 0: 1, 4: 2, 5: 2, 6: 2}
