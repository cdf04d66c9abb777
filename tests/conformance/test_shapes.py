"""T18: tables that are wide, heavy, empty, or without any key."""

from __future__ import annotations

from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import statuses

WIDE = 800


@scenario(
    "T18",
    "Empty tables under every strategy; and a table without a key whose rows are equal, two of them at first, three more of the same later",
    holds="an empty table lands as an empty table with its columns, and fills later; equal rows stay as many as they are in the source, and reading them again adds none",
)
def test_empty_and_keyless_tables(stand: OpenStand) -> None:
    empty = ("log", "ledger", "notes")
    desk = stand(
        """
        - "public.log:at:timestamp!append"
        - "public.ledger:at:timestamp!upsert"
        - {table: public.notes, strategy: full_refresh, refresh_every: 0s}
        - {table: public.clicks, cursor: {column: at, type: timestamp}, strategy: append, lookback: 36500d}
        """,
        "CREATE TABLE log (what text, at timestamptz NOT NULL)",
        "CREATE TABLE ledger (id int PRIMARY KEY, what text, at timestamptz NOT NULL)",
        "CREATE TABLE notes (what text, at timestamptz)",
        "CREATE TABLE clicks (who text, where_at float8, at timestamptz NOT NULL)",
        "INSERT INTO clicks SELECT NULL, v, '2026-01-01 00:00+00' FROM unnest('{0,-0,NaN,NaN}'::float8[]) AS v",
        "INSERT INTO clicks SELECT 'ann', 1, '2026-01-01 00:00+00' FROM generate_series(1, 2)",
    )
    assert set(statuses(desk.land()).values()) == {Status.LANDED}
    for name in empty:
        assert desk.copy(name) == []
        assert "what" in desk.spark.read.format("delta").load(str(desk.shop.lake(name))).columns
    assert set(statuses(desk.sync("log", "ledger")).values()) == {Status.IDLE}

    desk.execute(
        "INSERT INTO log VALUES ('now', now())",
        "INSERT INTO ledger VALUES (1, 'now', now())",
        "INSERT INTO notes VALUES ('now', now())",
        "INSERT INTO clicks SELECT 'ann', 1, '2026-01-01 00:00+00' FROM generate_series(1, 3)",
    )
    second = desk.land()["clicks"]
    assert (second.rows.read, second.rows.inserted, second.rows.unchanged) == (9, 3, 6)
    for name in empty:
        desk.assert_equal(name)
    # As text: NaN equals nothing in Python, and 0.0 equals -0.0.
    frame = desk.spark.read.format("delta").load(str(desk.shop.lake("clicks")))
    copy = sorted(tuple(row) for row in frame.selectExpr("coalesce(who, '-')", "CAST(where_at AS string)").collect())
    assert copy == [("-", "-0.0"), ("-", "0.0"), ("-", "NaN"), ("-", "NaN"), *[("ann", "1.0")] * 5]


@scenario(
    "T18",
    f"A table of {WIDE} columns of eight types, upserted; one column of one row changes",
    holds="every value of every column is equal, before and after",
    long=True,
)
def test_a_wide_table(stand: OpenStand) -> None:
    types = ["int", "text", "numeric(12,2)", "timestamptz", "date", "boolean", "float8", "jsonb"]
    values = [
        "{n}",
        "'t{n}'",
        "{n}.25",
        "'2026-01-01 00:00:00.00{n:04d}+00'",
        "date '2026-01-01' + {n}",
        "{n} % 2 = 0",
        "{n}.5",
        "'[{n}]'",
    ]
    columns = [f"c{n} {types[n % 8]}" for n in range(WIDE)]
    row = ", ".join(values[n % 8].format(n=n) for n in range(WIDE))
    desk = stand(
        '- "public.wide:at:timestamp!upsert"',
        f"CREATE TABLE wide (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), {', '.join(columns)})",
        f"INSERT INTO wide SELECT g, now(), {row} FROM generate_series(1, 20) AS g",
        "INSERT INTO wide (id) VALUES (21)",
    )
    truth = (
        "SELECT "
        + ", ".join(["id", "at", *(f"c{n}::text" if types[n % 8] == "jsonb" else f"c{n}" for n in range(WIDE))])
        + " FROM wide"
    )
    desk.land()
    desk.assert_equal("wide", truth)
    desk.execute(f"UPDATE wide SET c{WIDE - 1} = '{{\"changed\": true}}', at = clock_timestamp() WHERE id = 7")
    second = desk.land()["wide"]

    assert (second.rows.inserted, second.rows.updated) == (0, 1)
    desk.assert_equal("wide", truth)


@scenario(
    "T18",
    "A row holds a text of 64 MB and a bytea of 16 MB",
    holds="they land whole, equal by their length and SHA-256 on both sides",
    long=True,
)
def test_a_heavy_row(stand: OpenStand) -> None:
    desk = stand(
        '- "public.papers:id:integer!append"',
        "CREATE TABLE papers (id int PRIMARY KEY, body text, scan bytea)",
        "INSERT INTO papers SELECT 1, repeat('0123456789abcdeé', 4 * 1024 * 1024), decode(repeat('00ff10', 16 * 1024 * 1024 / 3), 'hex')",
        "INSERT INTO papers VALUES (2, 'light', '')",
    )
    desk.land()
    hashes = "id", "length(body)", "sha2(encode(body, 'UTF-8'), 256)", "length(scan)", "sha2(scan, 256)"
    frame = desk.spark.read.format("delta").load(str(desk.shop.lake("papers")))
    assert sorted((tuple(row) for row in frame.selectExpr(*hashes).collect()), key=repr) == desk.source(
        "SELECT id, length(body), encode(sha256(convert_to(body, 'UTF8')), 'hex'), length(scan), encode(sha256(scan), 'hex') FROM papers"
    )
