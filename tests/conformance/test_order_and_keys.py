"""T13, T14: what was written last wins, an old window never takes back a new row, and keys stay the keys that they are."""

from __future__ import annotations

import threading
import time
from datetime import UTC

from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.mart import stamp
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import touching


@scenario(
    "T13",
    "Transaction A begins, B changes a row and commits, a sync runs, and A, which waited for B's lock, writes the same row last, under the older stamp of its own beginning",
    holds="the row is as A left it: the later snapshot wins, whatever the stamps say",
    bugs=("airbyte #51559",),
)
def test_the_last_writer_has_the_older_stamp(stand: OpenStand) -> None:
    desk = stand(
        '- "public.stock:updated_at:timestamp!upsert"',
        "CREATE TABLE stock (id int PRIMARY KEY, pieces int, by text, updated_at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO stock VALUES (1, 10, 'nobody')",
    )
    desk.land()
    with desk.shop.connect() as a, desk.shop.connect() as b:
        a.execute("SELECT now()")
        b.execute("UPDATE stock SET pieces = pieces - 1, by = 'B', updated_at = now()")
        waiting = threading.Thread(
            target=a.execute, args=("UPDATE stock SET pieces = pieces - 1, by = 'A', updated_at = now()",)
        )
        waiting.start()
        _wait_for_a_lock(desk)
        b.commit()
        waiting.join()
        second = desk.land()["stock"]
        assert desk.copy("stock", "pieces", "by") == [(9, "B")]
        ((stamp_of_b,),) = desk.source("SELECT updated_at FROM stock")
        a.commit()
    third = desk.land()["stock"]

    ((stamp_of_a,),) = desk.source("SELECT updated_at FROM stock")
    assert stamp_of_a < stamp_of_b, "the story needs A's stamp to be the older one"
    assert (second.rows.updated, third.rows.updated, third.rows.late) == (1, 1, 1)
    assert desk.copy("stock", "pieces", "by") == [(8, "A")]
    desk.assert_equal("stock")


@scenario(
    "T13",
    "The same of a table in partitions, whose `primary_key` is a part of the enforced one: A writes last, under the older stamp, and another row can no longer land",
    holds="the row is as A left it, and the one that cannot land is in quarantine and no longer in the copy: what a snapshot was read for and does not show is no more",
)
def test_the_last_writer_of_a_declared_key_has_the_older_stamp(stand: OpenStand) -> None:
    desk = stand(
        "- {table: public.stock, cursor: {column: updated_at, type: timestamp}, strategy: upsert, primary_key: [id]}",
        "CREATE TABLE stock (id int, day date DEFAULT '2026-01-01', by text, price numeric(10, 2), updated_at timestamptz NOT NULL DEFAULT now(), "
        "PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
        "CREATE TABLE stock_rest PARTITION OF stock DEFAULT",
        *touching("stock"),
        "INSERT INTO stock (id, by, price) VALUES (1, 'nobody', 1), (2, 'nobody', 1), (3, 'nobody', 1)",
    )
    desk.land()
    with desk.shop.connect() as a:
        a.execute("SELECT now()")
        desk.execute("UPDATE stock SET by = 'B', updated_at = now()")
        desk.land()
        a.execute("UPDATE stock SET by = 'A', updated_at = now() WHERE id = 1")
        a.execute("UPDATE stock SET price = 'NaN', updated_at = now() WHERE id = 2")
        a.commit()
    last = desk.land()["stock"]

    assert last.guarantee is Guarantee.SETTLED
    assert (last.rows.updated, last.rows.deleted, last.rows.quarantined) == (1, 1, 1)
    assert desk.copy("stock", "id", "by") == [(1, "A"), (3, "B")]


@scenario(
    "T13",
    "January is read again by a backfill after its rows have changed: one moved to today, one was changed without a new stamp, one was deleted in the source",
    holds="no newer row is taken back, the silent change is picked up, the watermark stays where it is, and the next sync has nothing to do",
    long=True,
)
def test_a_backfill_takes_nothing_back(stand: OpenStand) -> None:
    desk = stand(
        '["public.orders:updated_at:timestamp!upsert", "public.visits:at:timestamp!append"]',
        "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL)",
        "CREATE TABLE visits (who text, at timestamptz NOT NULL)",
        "INSERT INTO orders SELECT g, 'in January', '2026-01-10 00:00+00' FROM generate_series(1, 3) AS g",
        "INSERT INTO visits SELECT 'somebody', '2026-01-10 00:00+00' FROM generate_series(1, 2)",
    )
    desk.land()
    desk.execute("UPDATE orders SET note = 'moved', updated_at = now() WHERE id = 1")
    before = desk.land("orders")["orders"]
    desk.execute("UPDATE orders SET note = 'changed silently' WHERE id = 2", "DELETE FROM orders WHERE id = 3")
    january = Window(stamp("2026-01-01T00:00:00Z"), stamp("2026-02-01T00:00:00Z"))
    backfilled = desk.land(mode=Mode.BACKFILL, window=january)

    assert (backfilled["orders"].rows.read, backfilled["orders"].rows.updated) == (1, 1)
    assert backfilled["orders"].new_watermark == before.new_watermark
    assert (backfilled["visits"].rows.read, backfilled["visits"].rows.unchanged) == (2, 2)
    assert desk.copy("orders", "id", "note") == [(1, "moved"), (2, "changed silently"), (3, "in January")]
    desk.assert_equal("visits")
    assert desk.sync("orders")["orders"].status is Status.IDLE


@scenario(
    "T13",
    "A `primary_key` is only declared, and the source repeats it: within one batch, with equal cursors, and in a backfill that sees only the older of two rows",
    holds="the row with the largest cursor lands, of equal ones the one with the largest columns; the repetition is reported; an older cursor never overwrites a newer one",
    bugs=("airbyte #22112", "PostHog #33067"),
)
def test_a_declared_key_that_repeats(stand: OpenStand) -> None:
    desk = stand(
        "- {table: public.prices, cursor: {column: at, type: timestamp}, strategy: upsert, primary_key: [sku]}",
        "CREATE TABLE prices (sku text, price numeric(9,2), at timestamptz NOT NULL)",
        """INSERT INTO prices VALUES
           ('tea', 1, '2026-01-10 00:00+00'), ('tea', 2, '2026-02-10 00:00+00'),
           ('rum', 9, '2026-01-20 00:00+00'), ('rum', 8, '2026-01-20 00:00+00'), ('rum', NULL, '2026-01-20 00:00+00')""",
    )
    first = desk.land()["prices"]
    assert (first.rows.read, first.rows.inserted) == (5, 2)
    assert any("3 rows repeat a key (sku)" in text for text in first.warnings), first.warnings
    expected = desk.source("SELECT * FROM prices WHERE price IN (2, 9)")
    assert desk.copy("prices") == expected

    january = Window(stamp("2026-01-01T00:00:00Z"), stamp("2026-02-01T00:00:00Z"))
    backfilled = desk.land(mode=Mode.BACKFILL, window=january)["prices"]
    assert (backfilled.rows.read, backfilled.rows.inserted, backfilled.rows.updated) == (4, 0, 0)
    assert desk.copy("prices") == expected, "the older price of tea has overwritten the newer"


@scenario(
    "T14",
    "Keys of several columns read alike when they are put together: ('a','bc') and ('ab','c'), ('a','') and ('','a'), and with every separator in them that tools join by",
    holds="every key keeps a row of its own, through insert and update",
    long=True,
)
def test_keys_that_read_alike(stand: OpenStand) -> None:
    pairs = [("a", "bc"), ("ab", "c"), ("", "a"), ("a", ""), ("a|b", "c"), ("a", "b|c"), ("a,b", "c"), ("a", "b,c")]
    pairs += [("a\x1fb", "c"), ("a", "b\x1fc"), ("NULL", "x"), ("null", "x"), ("a ", "x"), ("a", " x"), ("A", "bc")]
    pairs += [("é", "x"), ("e\u0301", "x")]
    desk = stand(
        '- "public.pairs:at:timestamp!upsert"',
        "CREATE TABLE pairs (a text, b text, n int, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (a, b))",
    )
    with desk.shop.connect() as connection:
        for n, pair in enumerate(pairs):
            connection.execute("INSERT INTO pairs VALUES (%s, %s, %s)", (*pair, n))
    assert desk.land()["pairs"].rows.inserted == len(pairs)
    desk.execute("UPDATE pairs SET n = n + 100, at = clock_timestamp() WHERE n % 2 = 0")
    second = desk.land()["pairs"]

    assert (second.rows.inserted, second.rows.updated) == (0, (len(pairs) + 1) // 2)
    desk.assert_equal("pairs")


@scenario(
    "T14",
    "A declared key has parts that are NULL; the same rows are read again by a lookback, and one of them is given its key",
    holds="rows without a whole key go to quarantine with the reason, each once; all others land; the mended row lands as soon as it has a key",
    bugs=("PostHog #75601",),
    long=True,
)
def test_keys_that_are_not_whole(stand: OpenStand) -> None:
    desk = stand(
        """
        - {table: public.lines, cursor: {column: at, type: timestamp}, strategy: upsert, primary_key: [doc, line], lookback: 36500d}
        """,
        "CREATE TABLE lines (doc text, line int, what text, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO lines VALUES ('x', 1, 'whole'), ('x', NULL, 'no line'), (NULL, 1, 'no doc'), (NULL, NULL, 'neither')",
    )
    first = desk.land()["lines"]
    desk.execute("INSERT INTO lines VALUES ('x', 2, 'whole too')")
    second = desk.land()["lines"]

    assert (first.rows.inserted, first.rows.quarantined) == (1, 3)
    assert second.rows.inserted == 1
    assert any("3 rows cannot land" in text for text in first.warnings)
    kept = sorted((row["what"], row["_sync_column"], row["_sync_reason"]) for row in desk.quarantined("lines"))
    reason = "a part of the key is NULL"
    assert kept == [("neither", "doc", reason), ("no doc", "doc", reason), ("no line", "line", reason)]

    desk.execute("UPDATE lines SET line = 3 WHERE what = 'no line'")
    assert desk.land()["lines"].rows.inserted == 1
    desk.assert_equal("lines", "SELECT * FROM lines WHERE doc IS NOT NULL AND line IS NOT NULL")
    assert len(desk.quarantined("lines")) == 3


@scenario(
    "T14",
    "Rows of a copy are changed to what no lake can hold: a NaN, an infinity, a stamp in a year to come that goes to quarantine; one is mended; then another hand puts an old version back",
    holds="each leaves an upsert copy in the one commit of its batch and is in quarantine alone, a check finds both sides equal, and the mended one lands again; what was put back is drift; an append keeps the versions that it saw",
)
def test_rows_that_can_no_longer_land(stand: OpenStand) -> None:
    columns = "id int PRIMARY KEY, price numeric(6,2), until timestamptz, at timestamptz NOT NULL DEFAULT now()"
    desk = stand(
        """
        - {table: public.prices, cursor: {column: at, type: timestamp}, strategy: upsert, future: quarantine}
        - {table: public.seen, cursor: {column: at, type: timestamp}, strategy: append}
        """,
        *(f"CREATE TABLE {name} ({columns})" for name in ("prices", "seen")),
        *(f"INSERT INTO {name} SELECT g, g, now() FROM generate_series(1, 9) AS g" for name in ("prices", "seen")),
    )
    desk.land()
    (seen, *_), versions = desk.copy("seen"), desk.versions("prices")
    for name in ("prices", "seen"):
        desk.execute(
            f"UPDATE {name} SET price = 'NaN', at = now() WHERE id = 1",
            f"UPDATE {name} SET until = 'infinity', at = now() WHERE id = 2",
            f"UPDATE {name} SET price = 30, at = now() WHERE id = 3",
            f"INSERT INTO {name} VALUES (10, 10, now())",
        )
    desk.execute("UPDATE prices SET price = 40, at = now() + interval '1 year' WHERE id = 4")
    second = desk.land()

    assert (second["prices"].rows.inserted, second["prices"].rows.updated) == (1, 1)
    assert (second["prices"].rows.deleted, second["prices"].rows.quarantined) == (3, 3)
    assert len(desk.versions("prices")) == len(versions) + 1
    fit = "SELECT * FROM prices WHERE price <> 'NaN' AND coalesce(until < 'infinity', TRUE) AND at < now()"
    desk.assert_equal("prices", fit)
    assert sorted(row["id"] for row in desk.quarantined("prices")) == ["1", "2", "4"]
    assert seen in desk.copy("seen")
    desk.execute("UPDATE prices SET price = 1.5, at = now() WHERE id = 1")
    assert desk.land("prices")["prices"].rows.inserted == 1
    desk.assert_equal("prices", fit)

    ((moment,),) = desk.source("SELECT max(at) FROM prices WHERE at < now()")
    _settle_past(desk, "prices", CursorValue.of(CursorType.TIMESTAMP, moment.replace(tzinfo=UTC)))
    assert _drift(desk, "prices").rows == 0
    path = desk.shop.lake("prices")
    back = f"SELECT * FROM delta.`{path}` VERSION AS OF {versions[-1]} WHERE id = 2"
    desk.spark.sql(f"INSERT INTO delta.`{path}` {back}").collect()
    drift = _drift(desk, "prices")
    assert (drift.rows, drift.samples) == (1, ("2",)), drift
    assert "shows what the source no longer has" in drift.detail


@scenario(
    "T14",
    "A primary key is changed, and another is written with other digits, 1.0 as 1.00, which are one key for the source",
    holds="the new key lands; a check names the old one, which only the copy has; the number is there once",
    long=True,
)
def test_a_key_that_changes(stand: OpenStand) -> None:
    desk = stand(
        '["public.items:at:timestamp!upsert", "public.amounts:at:timestamp!upsert"]',
        "CREATE TABLE items (id int PRIMARY KEY, at timestamptz NOT NULL)",
        "CREATE TABLE amounts (id numeric PRIMARY KEY, at timestamptz NOT NULL)",
        "INSERT INTO items VALUES (1, '2026-01-10 00:00+00'), (2, '2026-01-10 00:00+00')",
        "INSERT INTO amounts VALUES (1.0, '2026-01-10 00:00+00'), (100, '2026-01-10 00:00+00')",
    )
    desk.land()
    desk.execute(
        "UPDATE items SET id = 7, at = now() WHERE id = 1", "UPDATE amounts SET id = 1.00, at = now() WHERE id = 1"
    )
    desk.land()

    drift = _drift(desk, "items")
    assert "1 row is only in the lake (the key 1): " in drift.detail, drift
    with desk.runtime() as runtime:
        lake = runtime.ports("shop").lake
        assert lake.duplicates(desk.spec("items")).rows == 0
        assert lake.duplicates(desk.spec("amounts")).rows == 0
    assert desk.copy("amounts", "id") == [("1.00",), ("100",)]


def _settle_past(desk: Stand, name: str, value: CursorValue) -> None:
    """Until nothing can be committed any more up to a value."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        mark = desk.land(name)[name].new_watermark
        if mark is not None and value < mark:
            return
        time.sleep(0.2)
    raise AssertionError(f"{name} never settles past {value}")


def _drift(desk: Stand, name: str) -> Drift:
    """As the check of the table finds it."""
    with desk.runtime() as runtime:
        return reconcile(desk.spec(name), None, runtime.ports("shop"))


def _wait_for_a_lock(desk: Stand) -> None:
    """Until some session waits for another's row."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if desk.source(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        ):
            return
        time.sleep(0.02)
    raise AssertionError("nobody waits for a lock")
