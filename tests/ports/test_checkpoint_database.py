"""The database behind the checkpoint table: versions, errors without secrets, and files that come and go."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.schema import SHIPPED, Schema
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.checkpoints.tables import metadata
from incremental_assets.core.errors import CheckpointsTooNew, CheckpointsUnreachable, CheckpointsUnreadable, SetupError
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.ports.stories import ORDERS, intent, sync

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "DOWN"

def upgrade():
    op.add_column("checkpoints", sa.Column("weather", sa.Text, server_default="fair"))
""".replace("DOWN", f"{SHIPPED.latest:04d}")


@pytest.fixture
def of_tomorrow(tmp_path: Path) -> Schema:
    """The schema of a program that knows one version more."""
    folder = tmp_path / "tomorrow"
    folder.mkdir()
    (folder / "v9999_next.py").write_text(NEXT)
    return Schema(9999, SHIPPED.scripts, (*SHIPPED.versions, folder))


def record(url: str, seq: int) -> None:
    checkpoints = SqlCheckpoints(url)
    with checkpoints.lease(ORDERS, "run") as lease:
        lease.record(intent(seq))
    checkpoints.close()


def test_the_tables_are_those_that_the_program_expects(url: str) -> None:
    database = Database(url)
    with database.transaction() as connection:
        found = inspect(connection)
        for table in metadata.sorted_tables:
            columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            key = found.get_pk_constraint(table.name)["constrained_columns"]
            assert key == [column.name for column in table.primary_key]
    database.close()


def test_a_database_of_this_version_is_brought_to_the_next_with_what_it_holds(url: str, of_tomorrow: Schema) -> None:
    record(url, 0)
    newer = Database(url, of_tomorrow)
    for _ in range(2):
        with newer.transaction() as connection:
            assert connection.execute(text("SELECT seq, weather FROM checkpoints")).one() == (0, "fair")
    newer.close()


def test_whoever_writes_nothing_makes_no_table_and_finds_nothing(url: str) -> None:
    reader = SqlCheckpoints(url, writes=False)
    assert (reader.positions(), reader.position(ORDERS), reader.catalogue("shop")) == ({}, Checkpoint(), None)
    reader.close()
    if url.startswith("sqlite"):
        assert not Path(url.removeprefix("sqlite:///")).parent.exists()
        return
    database = Database(url, writes=False)
    with database._begin() as connection:
        assert inspect(connection).get_table_names() == []
    database.close()


def test_whoever_writes_nothing_reads_what_is_there(url: str) -> None:
    record(url, 7)
    reader = SqlCheckpoints(url, writes=False)
    assert reader.position(ORDERS).last_seq == 7
    reader.close()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_whoever_writes_nothing_leaves_the_file_and_what_lies_beside_it_as_they_were(
    tmp_path: Path, journal: str
) -> None:
    """Also one that was restored, and has no write-ahead log any more."""
    url = f"sqlite:///{tmp_path}/checkpoints.db"
    record(url, 7)
    with sqlite3.connect(tmp_path / "checkpoints.db") as restored:
        restored.execute(f"PRAGMA journal_mode = {journal}")
    restored.close()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    reader = SqlCheckpoints(url, writes=False)
    assert reader.position(ORDERS).last_seq == 7
    with pytest.raises(CheckpointsUnreachable, match="readonly"), reader.lease(ORDERS, "run"):
        pass
    reader.close()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_whoever_writes_nothing_leaves_a_database_of_an_earlier_version_and_says_so(
    url: str, of_tomorrow: Schema
) -> None:
    record(url, 0)
    newer = Database(url, of_tomorrow, writes=False)
    with pytest.raises(SetupError, match="`incremental-assets status` brings it up to date"), newer.transaction():
        pass
    newer.close()
    older = Database(url)
    with older.transaction() as connection:
        assert "weather" not in {column["name"] for column in inspect(connection).get_columns("checkpoints")}
    older.close()


def test_an_empty_database_is_brought_to_the_newest_version_at_once(url: str, of_tomorrow: Schema) -> None:
    newer = Database(url, of_tomorrow)
    with newer.transaction() as connection:
        assert connection.execute(text("SELECT version_num FROM checkpoints_version")).scalar_one() == "9999"
        assert connection.execute(text("SELECT weather FROM checkpoints")).all() == []
    newer.close()


def test_a_database_of_a_newer_program_is_refused_by_both_versions(url: str, of_tomorrow: Schema) -> None:
    newer = Database(url, of_tomorrow)
    with newer.transaction(writes=True):
        pass
    newer.close()
    older = SqlCheckpoints(url)
    for question in (lambda: older.position(ORDERS), lambda: older.lease(ORDERS, "run").__enter__()):
        with pytest.raises(
            CheckpointsTooNew, match=rf"is of version 9999 and .* up to {SHIPPED.latest}: upgrade incremental-assets"
        ):
            question()
    older.close()


def test_a_migration_that_fails_leaves_the_database_as_it_was(url: str, of_tomorrow: Schema) -> None:
    record(url, 0)
    script = of_tomorrow.versions[1] / "v9999_next.py"
    script.write_text(NEXT + '    op.execute("SELECT 1 FROM nowhere")\n')
    newer = Database(url, of_tomorrow)
    with pytest.raises(CheckpointsUnreachable, match="nowhere"), newer.transaction():
        pass
    newer.close()
    record(url, 1)
    assert SqlCheckpoints(url).position(ORDERS).last_seq == 1


def test_two_that_start_at_once_migrate_one_after_the_other(url: str, of_tomorrow: Schema) -> None:
    record(url, 0)
    script = of_tomorrow.versions[1] / "v9999_next.py"
    script.write_text(NEXT.replace("def upgrade():", "def upgrade():\n    __import__('time').sleep(0.3)"))

    def start(_: int) -> None:
        database = Database(url, of_tomorrow)
        with database.transaction() as connection:
            assert connection.execute(text("SELECT weather FROM checkpoints")).scalar_one() == "fair"
        database.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start, range(2)))


def test_a_process_that_finds_its_version_does_without_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/checkpoints.db"
    record(url, 0)
    program = (
        "import sys; from incremental_assets.adapters.checkpoints.store import SqlCheckpoints\n"
        "from tests.ports.stories import ORDERS\n"
        "assert SqlCheckpoints(sys.argv[1]).position(ORDERS).last_seq == 0\n"
        "assert not [name for name in sys.modules if name.startswith(('alembic', 'pyspark', 'dagster'))]\n"
    )
    subprocess.run([sys.executable, "-c", program, url], check=True)


def test_reading_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    checkpoints = SqlCheckpoints(f"sqlite:///{tmp_path}/deep/checkpoints.db")
    assert checkpoints.position(ORDERS) == Checkpoint()
    assert checkpoints.positions() == {}
    assert checkpoints.history(ORDERS) == ()
    assert checkpoints.heartbeats() == {}
    assert checkpoints.catalogue("shop") is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_deleted_under_a_running_process_is_lost_and_begun_anew(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/checkpoints.db", tmp_path / "checkpoints.db"
    daemon = SqlCheckpoints(url)
    with daemon.lease(ORDERS, "run") as lease:
        for event in sync(0):
            lease.record(event)
    for left in tmp_path.iterdir():
        left.unlink()
    assert daemon.position(ORDERS) == Checkpoint()
    record(url, 5)
    assert daemon.position(ORDERS).last_seq == 5
    with daemon.lease(ORDERS, "run") as lease:
        lease.record(intent(6))
    assert SqlCheckpoints(url).position(ORDERS).last_seq == 6
    assert file.exists()


def test_a_locked_file_is_told_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incremental_assets.adapters.checkpoints.database.WAIT", 0.1)
    url = f"sqlite:///{tmp_path}/checkpoints.db"
    record(url, 0)
    other = sqlite3.connect(tmp_path / "checkpoints.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    checkpoints = SqlCheckpoints(url)
    with pytest.raises(CheckpointsUnreachable, match=r"checkpoints\.db could not be used \(database is locked\)"):
        checkpoints.lease(ORDERS, "run").__enter__()
    # Readers are not in its way.
    assert checkpoints.position(ORDERS).last_seq == 0
    other.close()
    checkpoints.close()


@pytest.mark.parametrize(
    "content", [b"", b"this is no database, but a text that is long enough to be seen as none" * 20]
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "checkpoints.db").write_bytes(content)
    url = f"sqlite:///{tmp_path}/checkpoints.db"
    if not content:
        record(url, 0)
        return
    with pytest.raises(CheckpointsUnreadable, match="file is not a database"):
        record(url, 0)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointsUnreachable, match="could not be used"):
        record(f"sqlite:///{tmp_path}/file/checkpoints.db", 0)


@pytest.mark.parametrize(
    "place", ["{user}:{secret}@{host}:{port}/{database}", "{user}@{host}:{port}/{database}?password={secret}"]
)
def test_a_wrong_password_is_in_no_message(postgres: EmbeddedPostgres, database: str, place: str) -> None:
    secret = "hunter2-and-more"
    url = "postgresql://" + place.format(
        user=postgres.user, secret=secret, host=postgres.host, port=postgres.port, database=database
    )
    checkpoints = SqlCheckpoints(url)
    with pytest.raises(CheckpointsUnreachable, match="password authentication failed") as raised:
        checkpoints.position(ORDERS)
    chain = [raised.value, raised.value.__cause__]
    assert secret not in "".join(map(repr, chain)) + str(raised.value) + repr(checkpoints)
    assert f"postgresql://{postgres.user}@{postgres.host}:{postgres.port}/{database}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(CheckpointsUnreachable, match=r"postgresql://me@127\.0\.0\.1:1/x could not be used") as raised:
        SqlCheckpoints("postgresql://me:hunter2@127.0.0.1:1/x").position(ORDERS)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("url", ["mysql://me:hunter2@host/x", "sqlite://", "sqlite:///:memory:", "me:hunter2@nowhere"])
def test_another_kind_of_database_is_refused_when_it_is_opened(url: str) -> None:
    with pytest.raises(SetupError, match=r"sqlite:///path/to/checkpoints\.db or in postgresql://") as raised:
        SqlCheckpoints(url)
    assert "hunter2" not in str(raised.value)


def test_a_connection_that_broke_is_replaced(postgres: EmbeddedPostgres, database: str) -> None:
    url = f"postgresql://{postgres.user}:{postgres.password}@{postgres.host}:{postgres.port}/{database}"
    checkpoints = SqlCheckpoints(url)
    with checkpoints.lease(ORDERS, "run") as lease:
        lease.record(intent(0))
        admin = Database(url)
        with admin.transaction() as connection:
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name AND pid <> pg_backend_pid()"
                ),
                {"name": database},
            )
        admin.close()
        lease.record(intent(1))
    assert checkpoints.position(ORDERS).last_seq == 1
    checkpoints.close()


def test_a_file_that_is_no_database_is_said_to_be_none_and_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints.db"
    file.write_text("notes of a person\n" * 300)
    checkpoints = SqlCheckpoints(f"sqlite:///{file}")

    for ask in (checkpoints.positions, checkpoints.heartbeats):
        with pytest.raises(
            CheckpointsUnreadable, match=r"checkpoints\.db is not a checkpoint database.*move it away"
        ) as met:
            ask()
        assert "try again" not in str(met.value)
    assert file.read_text() == "notes of a person\n" * 300


def test_drift_that_version_2_kept_may_lie_anywhere(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/checkpoints.db"
    database = Database(url)
    with database.transaction(writes=True) as connection:
        row = "'shop.public.orders', 'shop', 'public', 'orders', '7', 3, '2024-01-01 00:00:00.000', NULL"
        connection.execute(text(f"INSERT INTO verifications VALUES ({row})"))
    database.close()

    assert SqlCheckpoints(url).verified() == {ORDERS: Verified("7", (Drifted(Window(None, None), 3),))}
