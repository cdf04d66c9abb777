"""What is done to the source beside the load: each hazard has a table, a writer, and the guarantee that its runs must state.

A table is `settled` where the bound must hold whatever its writer does, `settled_within` where it must as long as the writer keeps to what the
configuration declares of it, and `best_effort` where nothing that a database tells can prove that no row is missing: then the runs must say so beforehand.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from incremental_assets.core.model.cursor import CursorType
from tests.conformance.soak.line import psql, slow_line
from tests.shop import PASSWORD, Shop, touching

SETTLED, WITHIN, BEST_EFFORT = "settled", "settled_within", "best_effort"
SESSIONS = 16
"""Of the sequence with CACHE: each draws numbers in advance and commits them when it likes."""
TRANSACTIONS, FILLERS = 8, 2_000
"""Of one message. The fillers are empty COMMITs: their answers fill the line to a client that reads slowly, with no transaction open."""


_PROCEDURE = """
CREATE PROCEDURE fill_procedures(times int) LANGUAGE plpgsql AS $$
BEGIN
  FOR n IN 1..times LOOP
    INSERT INTO procedures DEFAULT VALUES;
    PERFORM pg_sleep(random());
    COMMIT;
  END LOOP;
END $$
"""


@dataclass(frozen=True)
class Writing:
    """What a writer works with. It stops soon after `stop` is set."""

    shop: Shop
    stop: threading.Event
    chance: random.Random
    pooler: int
    """Its port."""

    def connect(self, user: str | None = None) -> psycopg.Connection:
        """A session of its own, each statement a transaction."""
        dsn = self.shop.postgres.dsn(self.shop.database)
        login = {} if user is None else {"user": user, "password": PASSWORD}
        return psycopg.connect(dsn, autocommit=True, **login)  # type: ignore[arg-type]

    def pause(self, least: float, most: float) -> None:
        """The writer's own pace."""
        self.stop.wait(self.chance.uniform(least, most))


@dataclass(frozen=True)
class Hazard:
    """One table of the soak. `identity` names a row in both sides' SQL, `stamp` is its cursor as UTC text in PostgreSQL's."""

    table: str
    listed: str
    make: tuple[str, ...]
    guarantee: str = SETTLED
    identity: str = "CAST(id AS varchar)"
    kind: CursorType = CursorType.TIMESTAMP
    stamp: str = """to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
    write: Callable[[Writing], None] | None = None
    sessions: int = 1
    key: str = ""
    """By which no row may be there twice; empty: by its identity."""


def _messages(writing: Writing) -> None:
    """Many transactions in one message share its now(); while the client reads slowly, the server waits between two of them."""
    script = writing.shop.folder / f"message-{writing.chance.random()}.sql"
    one = "BEGIN\\; INSERT INTO messages DEFAULT VALUES\\; COMMIT\\; " + "COMMIT\\; " * FILLERS
    script.write_text("SET client_min_messages = 'error';\n" + one * TRANSACTIONS + "SELECT 1;\n")
    with slow_line(writing.shop.postgres.port) as port:
        while not writing.stop.is_set():
            psql(writing.shop, port, script)
            writing.pause(0, 2)


def _procedures(writing: Writing) -> None:
    """A procedure commits and goes on: what it stamps by statement_timestamp() is older than each of its transactions."""
    with writing.connect() as connection:
        while not writing.stop.is_set():
            connection.execute("CALL fill_procedures(%s)", [writing.chance.randint(3, 8)])
            writing.pause(0, 1)


def _chains(writing: Writing) -> None:
    """COMMIT AND CHAIN begins the next transaction with the stamp of the statement that ended the one before."""
    with writing.connect() as connection:
        while not writing.stop.is_set():
            message = "BEGIN;" + "INSERT INTO chains DEFAULT VALUES; SELECT pg_sleep(0.2); COMMIT AND CHAIN;" * 5
            connection.execute(message + "ROLLBACK")  # type: ignore[arg-type]
            writing.pause(0, 1)


def _zoned(writing: Writing) -> None:
    """A role in another zone than the database's stamps in its own."""
    with writing.connect("new_york") as connection:
        while not writing.stop.is_set():
            connection.execute("INSERT INTO zoned DEFAULT VALUES")
            writing.pause(0.2, 1)


def _attached(writing: Writing) -> None:
    """A partition that was filled apart from its table becomes visible at once, however old its stamps are."""
    number = 0
    with writing.connect() as connection:
        while not writing.stop.is_set():
            number += 1
            part = f"parted_{number}"
            connection.execute(f"CREATE TABLE {part} (LIKE parted INCLUDING DEFAULTS INCLUDING CONSTRAINTS)")  # type: ignore[arg-type]
            connection.execute(f"INSERT INTO {part} (part) SELECT {number} FROM generate_series(1, 10)")  # type: ignore[arg-type]
            writing.pause(5, 20)
            connection.execute(f"ALTER TABLE parted ATTACH PARTITION {part} FOR VALUES IN ({number})")  # type: ignore[arg-type]
            connection.execute("INSERT INTO parted (part) VALUES (0)")


def _cached(writing: Writing) -> None:
    """Numbers that a session has drawn in advance are committed long after higher ones of others."""
    with writing.connect() as connection:
        while not writing.stop.is_set():
            connection.execute("INSERT INTO cached DEFAULT VALUES")
            writing.pause(0.5, 20)


HAZARDS = (
    Hazard(
        "lives",
        '- "public.lives:updated_at:timestamp!upsert"',
        (
            "CREATE TABLE lives (id int PRIMARY KEY, step int NOT NULL, updated_at timestamptz NOT NULL DEFAULT now())",
            *touching("lives"),
            "CREATE INDEX ON lives (updated_at)",
            "CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.updated_at := now(); RETURN NEW; END $$",
            "CREATE TRIGGER stamped BEFORE INSERT OR UPDATE ON lives FOR EACH ROW EXECUTE FUNCTION stamp()",
        ),
        key="CAST(id AS varchar)",
        identity="concat(CAST(id AS varchar), ':', CAST(step AS varchar))",
        stamp="""to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
    ),
    Hazard(
        "steps",
        '- "public.steps:at:timestamp!append"',
        (
            "CREATE TABLE steps (life int NOT NULL, step int NOT NULL, at timestamptz NOT NULL DEFAULT now())",
            "CREATE INDEX ON steps (at)",
        ),
        identity="concat(CAST(life AS varchar), ':', CAST(step AS varchar))",
    ),
    Hazard(
        "numbers",
        '- "public.numbers:id:integer!append"',
        (
            "CREATE TABLE numbers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, life int NOT NULL, step int NOT NULL)",
        ),
        kind=CursorType.INTEGER,
        stamp="CAST(id AS text)",
    ),
    Hazard(
        "messages",
        '- "public.messages:at:timestamp!append"',
        (
            "CREATE TABLE messages (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            "CREATE INDEX ON messages (at)",
        ),
        write=_messages,
        sessions=2,
    ),
    Hazard(
        "procedures",
        '- "public.procedures:at:timestamp!upsert"',
        (
            "CREATE TABLE procedures (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT statement_timestamp())",
            *touching("procedures", "at"),
            "CREATE INDEX ON procedures (at)",
            _PROCEDURE,
        ),
        write=_procedures,
        sessions=2,
    ),
    Hazard(
        "chains",
        '- "public.chains:at:timestamp!append"',
        (
            "CREATE TABLE chains (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            "CREATE INDEX ON chains (at)",
        ),
        write=_chains,
    ),
    Hazard(
        "zoned",
        '- "public.zoned:at:datetime!append"',
        (
            "CREATE TABLE zoned (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamp NOT NULL DEFAULT localtimestamp)",
            "CREATE INDEX ON zoned (at)",
            f"CREATE ROLE new_york LOGIN PASSWORD '{PASSWORD}'",
            "ALTER ROLE new_york SET timezone = 'America/New_York'",
            "GRANT INSERT ON zoned TO new_york",
        ),
        guarantee=BEST_EFFORT,
        kind=CursorType.DATETIME,
        stamp="""to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.US')""",
        write=_zoned,
    ),
    Hazard(
        "parted",
        "- {table: public.parted, cursor: {column: at, type: timestamp}, strategy: append}",
        (
            "CREATE SEQUENCE parted_ids",
            "CREATE TABLE parted (id bigint NOT NULL DEFAULT nextval('parted_ids'), part int NOT NULL, at timestamptz NOT NULL DEFAULT now()) PARTITION BY LIST (part)",
            "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0)",
            "CREATE INDEX ON parted (at)",
        ),
        write=_attached,
    ),
    Hazard(
        "cached",
        '- "public.cached:id:integer!append"',
        (
            "CREATE SEQUENCE cached_ids CACHE 10",
            "CREATE TABLE cached (id bigint PRIMARY KEY DEFAULT nextval('cached_ids'))",
        ),
        guarantee=BEST_EFFORT,
        kind=CursorType.INTEGER,
        stamp="CAST(id AS text)",
        write=_cached,
        sessions=SESSIONS,
    ),
)
