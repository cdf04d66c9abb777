"""What an application, a pooler and a migration do to the promise: stamps of its own, a role that it shares, rows that change without a stamp."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
from psycopg import errors

from tests.conformance.soak.hazards import BEST_EFFORT, WITHIN, Hazard, Writing
from tests.shop import PASSWORD

SHARED = "shared"
"""The role that an application and the sync have in common, behind one pooler."""
LAGGING = 20.0
"""Seconds from an application's stamp to its transaction, at the most; less than the configuration declares."""
DECLARED = "30s"
_STAMPED = "(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL)"


def _stamps_itself(table: str, writing: Writing) -> None:
    """An application takes the stamp from its own clock, and begins its transaction when it likes."""
    with writing.connect() as connection:
        while not writing.stop.is_set():
            at = datetime.now(UTC) - timedelta(seconds=writing.chance.uniform(0, LAGGING))
            connection.execute(f"INSERT INTO {table} (at) VALUES (%s)", [at])  # type: ignore[arg-type]
            writing.pause(0.2, 2)


def _cut(writing: Writing) -> None:
    """Stamps of one minute are one stamp; a transaction may write them long after others of that minute have landed."""
    with writing.connect() as connection:
        while not writing.stop.is_set():
            with connection.transaction():
                connection.execute("INSERT INTO cut DEFAULT VALUES")
                writing.pause(0, 1)
            writing.pause(0, 2)


def _altered(writing: Writing) -> None:
    """A migration changes what every row shows, and no row is stamped."""
    with writing.connect() as connection:
        connection.execute("SET lock_timeout = '2s'")
        while not writing.stop.is_set():
            for _ in range(writing.chance.randint(5, 20)):
                connection.execute("INSERT INTO altered DEFAULT VALUES")
                writing.pause(0.2, 2)
            try:
                connection.execute("ALTER TABLE altered ALTER v TYPE int USING v + 1")
            except errors.LockNotAvailable:
                continue  # a reader is in its way; the next one may come through


def _pooled(writing: Writing) -> None:
    """An application behind a pooler in transaction mode, whose server sessions are also the sync's: whatever that leaves there, the application meets."""
    while not writing.stop.is_set():
        with _behind_pooler(writing) as connection:
            connection.execute("INSERT INTO pooled DEFAULT VALUES")
            connection.execute("SELECT count(*) FROM pooled WHERE at > now() - interval '1 minute'")
            writing.pause(0, 2)
        writing.pause(0, 0.5)


def _behind_pooler(writing: Writing) -> psycopg.Connection:
    dsn = writing.shop.postgres.dsn(writing.shop.database)
    login = {"user": SHARED, "password": PASSWORD, "port": writing.pooler}
    return psycopg.connect(dsn, prepare_threshold=None, **login)  # type: ignore[arg-type]


PROMISES = (
    Hazard(
        "applications",
        '- "public.applications:at:timestamp!append"',
        (f"CREATE TABLE applications {_STAMPED}", "CREATE INDEX ON applications (at)"),
        guarantee=BEST_EFFORT,
        write=lambda writing: _stamps_itself("applications", writing),
    ),
    Hazard(
        "declared",
        f"- {{table: public.declared, cursor: {{column: at, type: timestamp, stamped: {{by: application, within: {DECLARED}}}}}, strategy: append}}",
        (f"CREATE TABLE declared {_STAMPED}", "CREATE INDEX ON declared (at)"),
        guarantee=WITHIN,
        write=lambda writing: _stamps_itself("declared", writing),
    ),
    Hazard(
        "cut",
        '- "public.cut:at:timestamp!append"',
        (
            "CREATE TABLE cut (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT date_trunc('minute', now()))",
            "CREATE INDEX ON cut (at)",
        ),
        write=_cut,
    ),
    Hazard(
        "altered",
        '- "public.altered:at:timestamp!upsert"',
        (
            "CREATE TABLE altered (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int NOT NULL DEFAULT 0, at timestamptz NOT NULL DEFAULT now())",
            "CREATE INDEX ON altered (at)",
            # Without it an update would keep its stamp, and no run of an upsert would be `settled`.
            "CREATE FUNCTION stamp_altered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at := now(); RETURN NEW; END $$",
            "CREATE TRIGGER stamped BEFORE UPDATE ON altered FOR EACH ROW EXECUTE FUNCTION stamp_altered()",
        ),
        identity="concat(CAST(id AS varchar), ':', CAST(v AS varchar))",
        key="CAST(id AS varchar)",
        write=_altered,
    ),
    Hazard(
        "pooled",
        '- "public.pooled:at:timestamp!append"',
        (
            "CREATE TABLE pooled (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            "CREATE INDEX ON pooled (at)",
            f"CREATE ROLE {SHARED} LOGIN PASSWORD '{PASSWORD}'",
            f"GRANT pg_read_all_data, pg_read_all_stats TO {SHARED}",
            f"GRANT INSERT ON pooled TO {SHARED}",
        ),
        write=_pooled,
        sessions=6,
    ),
)
