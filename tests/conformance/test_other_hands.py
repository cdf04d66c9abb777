"""T20: other hands in the lake, between two runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from tests.conformance.conftest import OpenStand
from tests.conformance.meddling import assert_told
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

COLUMNS = "id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now()"
HARMED = ("deleted", "updated", "inserted", "restored", "removed", "overwritten", "replaced", "older")


@scenario(
    "T20",
    "Another hand runs OPTIMIZE, VACUUM DRY RUN and VACUUM (retaining nothing) on the landed tables between runs",
    holds="the next runs go on, and lose or repeat nothing",
    long=True,
)
def test_maintenance_by_another_hand(stand: OpenStand) -> None:
    desk = stand(
        '- "public.orders:at:timestamp!upsert"\n- "public.readings:at:timestamp!append"',
        f"CREATE TABLE orders ({COLUMNS})",
        f"CREATE TABLE readings ({COLUMNS})",
        "INSERT INTO orders VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO readings VALUES (1, 'a', '2024-01-10Z'), (2, 'b', '2024-01-10Z')",
    )
    desk.land()
    desk.execute("UPDATE orders SET note = 'c', at = now() WHERE id = 2", "INSERT INTO readings VALUES (3, 'c')")
    desk.land()
    with _retaining_nothing(desk):
        for name in ("orders", "readings"):
            desk.spark.sql(f"OPTIMIZE {_delta(desk, name)}")
            desk.spark.sql(f"VACUUM {_delta(desk, name)} RETAIN 0 HOURS DRY RUN")
            desk.spark.sql(f"VACUUM {_delta(desk, name)} RETAIN 0 HOURS")
    desk.execute("UPDATE orders SET note = 'd', at = now() WHERE id = 1", "INSERT INTO readings VALUES (4, 'd')")
    reports = desk.land()

    assert {report.status for report in reports.values()} == {Status.LANDED}
    desk.assert_equal("orders")
    desk.assert_equal("readings")
    desk.assert_tidy("orders", "readings")


@scenario(
    "T20",
    "Another hand deletes, updates, inserts or overwrites rows, restores an older version, removes the table's folder, puts another table or an "
    "older copy in its place",
    holds="the next run with something to land stops with advice in one sentence and writes nothing; `--full-refresh` then makes the table equal",
    long=True,
)
def test_another_hand_and_a_full_refresh(stand: OpenStand) -> None:
    desk = _harmed(stand)
    told = desk.sync()
    versions = {name: desk.versions(name) for name in HARMED}
    _assert_stopped(desk, told)
    # The advice does not hold for a table of somebody else's making, which is never overwritten.
    healed = desk.sync(mode=Mode.FULL_REFRESH)
    assert_told(healed["replaced"], "did not make", "move that table away")
    assert desk.versions("replaced") == versions["replaced"]
    shutil.rmtree(desk.shop.lake("replaced"))
    desk.land("replaced", mode=Mode.FULL_REFRESH)
    for name in HARMED:
        desk.assert_equal(name)
    desk.execute(*(f"INSERT INTO {name} VALUES (5, 'after')" for name in HARMED))
    desk.land()
    for name in HARMED:
        desk.assert_equal(name)
    desk.assert_tidy(*HARMED)


@scenario(
    "T20",
    "The same, and then the table is reset and synced",
    holds="the table is taken as it is found: all of the source is in it, and rows that the other hand put there under keys of its own stay",
    long=True,
)
def test_another_hand_and_a_reset(stand: OpenStand) -> None:
    desk = _harmed(stand)
    _assert_stopped(desk, desk.sync())
    for name in HARMED:
        desk.reset(name)
    told = desk.sync()
    assert_told(told["replaced"], "did not make", "move that table away")
    shutil.rmtree(desk.shop.lake("replaced"))
    desk.land("replaced")
    for name in HARMED:
        if name not in ("inserted", "overwritten"):
            desk.assert_equal(name)
    for name in ("inserted", "overwritten"):
        found = desk.copy(name)
        assert [row for row in desk.source(f"SELECT * FROM {name}") if row not in found] == []
        assert [row[:2] for row in found if row[0] > 90] == [(99, "by another hand")]
    desk.execute(*(f"INSERT INTO {name} VALUES (5, 'after')" for name in HARMED))
    assert {report.rows.inserted for report in desk.land().values()} == {1}


@scenario(
    "T20",
    "`lake:` is changed while all landed tables stay where they were",
    holds="every table that moved stops with advice in one sentence, no table is made of the newest rows alone; with the lake put back it goes on",
)
def test_the_lake_is_elsewhere(stand: OpenStand) -> None:
    desk = stand(
        '- "public.orders:at:timestamp!upsert"\n- "public.readings:at:timestamp!append"',
        f"CREATE TABLE orders ({COLUMNS})",
        f"CREATE TABLE readings ({COLUMNS})",
        "INSERT INTO orders VALUES (1, 'a')",
        "INSERT INTO readings VALUES (1, 'a')",
    )
    desk.land()
    desk.execute("INSERT INTO orders VALUES (2, 'b')", "INSERT INTO readings VALUES (2, 'b')")
    right = desk.shop.config.read_text()
    desk.shop.config.write_text(right.replace("lake: ./lake", "lake: ./elsewhere"))
    for report in desk.sync().values():
        assert_told(report, "gone from the lake", "--full-refresh", "reset")
    assert not (desk.shop.folder / "elsewhere" / "shop").exists()
    desk.shop.config.write_text(right)
    desk.land()
    desk.assert_equal("orders")
    desk.assert_equal("readings")
    desk.assert_tidy("orders", "readings")


def _harmed(stand: OpenStand) -> Stand:
    """Eight landed tables, each harmed in its own way, and a new row in each of their sources."""
    desk = stand(
        "\n".join(f'- "public.{name}:at:timestamp!upsert"' for name in HARMED),
        *(f"CREATE TABLE {name} ({COLUMNS})" for name in HARMED),
        *(f"INSERT INTO {name} VALUES (1, 'a', '2024-01-10Z'), (2, 'b', '2024-01-10Z')" for name in HARMED),
    )
    desk.land()
    older = desk.shop.folder / "older"
    shutil.copytree(desk.shop.lake("older"), older)
    desk.execute(*(f"INSERT INTO {name} VALUES (3, 'c')" for name in ("restored", "older")))
    desk.land()
    row = "99, 'by another hand', timestamp '2024-01-10 00:00:00Z', 'theirs', 0, current_timestamp()"
    lands = "SELECT {} AS id, note, at, _sync_run_id, _sync_seq, _sync_at FROM {}"
    desk.spark.sql(f"DELETE FROM {_delta(desk, 'deleted')} WHERE id = 2")
    desk.spark.sql(f"UPDATE {_delta(desk, 'updated')} SET note = 'by another hand' WHERE id = 1")
    desk.spark.sql(f"INSERT INTO {_delta(desk, 'inserted')} VALUES ({row})")
    desk.spark.sql(f"RESTORE TABLE {_delta(desk, 'restored')} TO VERSION AS OF {desk.versions('restored')[-2]}")
    shutil.rmtree(desk.shop.lake("removed"))
    desk.spark.sql(f"INSERT OVERWRITE {_delta(desk, 'overwritten')} VALUES ({row})")
    shutil.rmtree(desk.shop.lake("replaced"))
    theirs = desk.spark.sql(lands.format("9", _delta(desk, "updated")))
    theirs.write.format("delta").save(str(desk.shop.lake("replaced")))
    shutil.rmtree(desk.shop.lake("older"))
    shutil.copytree(older, desk.shop.lake("older"))
    desk.execute(*(f"INSERT INTO {name} VALUES (4, 'new')" for name in HARMED))
    return desk


def _assert_stopped(desk: Stand, told: dict[str, SyncReport]) -> None:
    words = {
        "deleted": "DELETE",
        "updated": "UPDATE",
        "inserted": "WRITE",
        "restored": "RESTORE",
        "removed": "gone from the lake",
        "overwritten": "WRITE",
        "older": "restored from an older copy",
    }
    for name, word in words.items():
        assert_told(told[name], word, "nothing was written", "--full-refresh", "reset")
        assert name == "removed" or 4 not in [row[0] for row in desk.copy(name)]
    assert_told(told["replaced"], "did not make", "move that table away")
    assert not desk.shop.lake("removed").exists()


def _delta(desk: Stand, name: str) -> str:
    return f"delta.`{desk.shop.lake(name)}`"


@contextmanager
def _retaining_nothing(desk: Stand) -> Iterator[None]:
    """VACUUM would refuse to retain nothing, and would list a handful of files in ten thousand tasks."""
    settings = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    }
    for name, value in settings.items():
        desk.spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            desk.spark.conf.unset(name)
