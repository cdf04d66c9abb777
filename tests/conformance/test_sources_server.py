"""T8, T21, T24 on the databases beside PostgreSQL: a clock that is put back, another database that answers, and what a reader cannot see."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol

import pytest

from incremental_assets.adapters.databases import host_clock
from incremental_assets.adapters.databases.sqlite import bound
from incremental_assets.core.planning.plan import Mode
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.conformance.clock import ClockedMariaDB, ClockedMySQL, ClockMissing
from tests.conformance.conftest import OpenWorld
from tests.conformance.meddling import assert_told
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.two_tables import BOTH, GUARD, TABLES, row, stamped_tables, tables
from tests.conformance.worlds import OTHERS, MariaWorld, MySQLWorld, SQLiteWorld, World, held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# --- T8 -----------------------------------------------------------------------------------------------


class SetClock(Protocol):
    """What a scenario sets."""

    def set_below(self, moment: datetime, seconds: float) -> None: ...
    def step(self, seconds: float) -> None: ...


class MachineClock:
    """A file's clock is that of the machine: of whoever writes it, and of this process where the product asks for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._offset = timedelta()
        monkeypatch.setattr(bound, "datetime", SimpleNamespace(now=lambda zone: datetime.now(zone) + self._offset))
        real = {name: getattr(time, name) for name in ("clock_gettime", "CLOCK_BOOTTIME", "monotonic")}
        monkeypatch.setattr(host_clock, "time", SimpleNamespace(**real, time=lambda: self.now().timestamp()))

    def now(self) -> datetime:
        return datetime.now(UTC) + self._offset

    def set_below(self, moment: datetime, seconds: float) -> None:
        self._offset = moment - timedelta(seconds=seconds) - datetime.now(UTC)

    def step(self, seconds: float) -> None:
        self._offset += timedelta(seconds=seconds)


@dataclass
class Clocked:
    """A database whose clock can be set, and the syncs of it."""

    desk: Stand[World]
    clock: SetClock

    def write(self, number: int) -> None:
        """A row of each table with a stamp of that clock."""
        at = self.desk.shop.words.at(f"{self.clock.now():%F %T.%f}") if isinstance(self.clock, MachineClock) else ""
        self.desk.execute(*row(number, f"row {number}", at))

    def now(self) -> datetime:
        if isinstance(self.clock, MachineClock):
            return self.clock.now().replace(tzinfo=None)
        ((moment,),) = self.desk.shop.rows(f"SELECT {self.desk.shop.words.now}")
        return moment


@pytest.fixture
def clocked(world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clocked]:
    """On a server of the test's own. Where there can be none, the scenario says that it was not played."""
    if not isinstance(world, MariaWorld):
        yield _opened(world, spark, MachineClock(monkeypatch))
        return
    try:
        server = (ClockedMySQL if isinstance(world, MySQLWorld) else ClockedMariaDB)(tmp_path / "clocked")
    except ClockMissing as reason:
        pytest.skip(f"no clock that can be set: {reason}")
    server.start()
    try:
        there = replace(world, server=server)
        there.prepare()
        yield _opened(there, spark, server.clock)
    finally:
        server.remove()


def _opened(world: World, spark: SparkSession, clock: SetClock) -> Clocked:
    world.configure(TABLES)
    world.execute(*stamped_tables(world))
    return Clocked(Stand(world, spark), clock)


@scenario(
    "T8",
    "The source's clock is put back by 60 s; rows are stamped before, meanwhile and after; a first run comes at once, another when the clock has caught up",
    holds="nothing is lost, an append lands each row once; the run that sees it says `best_effort` and warns, and no watermark stands above the source's clock",
    long=True,
)
@played_on(*OTHERS)
def test_the_clock_is_put_back_on_each_database(clocked: Clocked) -> None:
    desk = clocked.desk
    # Never ahead of the machine's, which ends the server's own waits: MySQL would stand still until that has caught up.
    clocked.clock.step(-1800)
    clocked.write(1)
    mark = desk.land()["visits"].new_watermark
    assert mark is not None
    clocked.clock.set_below(mark.moment().replace(tzinfo=UTC), 60)
    clocked.write(2)
    seen = desk.land()
    for name, report in seen.items():
        desk.assert_equal(name)
        assert report.guarantee == "best_effort", report
        assert any("the source's clock was put back" in text for text in report.warnings), report
        assert report.new_watermark is not None
        assert report.new_watermark.moment().replace(tzinfo=None) <= clocked.now()
    clocked.write(3)
    assert not any("was put back" in text for report in desk.land().values() for text in report.warnings), "told once"
    clocked.clock.step(900)
    clocked.write(4)
    assert {report.guarantee for report in desk.land().values()} == {"settled"}
    for name in BOTH:
        desk.assert_equal(name)
    desk.assert_tidy(*BOTH)


# --- T21 ----------------------------------------------------------------------------------------------


@pytest.fixture
def exchanged(world: World, tmp_path: Path) -> Iterator[World]:
    """Another database of the same name, on a server of its own; another file."""
    if not isinstance(world, MariaWorld):
        yield SQLiteWorld(tmp_path, "other.db")
        return
    server = (EmbeddedMySQL if isinstance(world, MySQLWorld) else EmbeddedMariaDB)(
        tmp_path / "other", settings={"server-id": "2"}
    )
    server.start()
    try:
        there = replace(world, server=server)
        there.prepare()
        yield there
    finally:
        server.remove()


@scenario(
    "T21",
    "The configuration leads to another server, whose `server_id` is another one, or to another file, with the same tables; later back to the first",
    holds="every table stops with advice in one sentence and nothing is overwritten; pointed back it goes on",
    long=True,
)
@played_on(*OTHERS)
def test_another_database_answers_on_each_database(world: World, open_world: OpenWorld, exchanged: World) -> None:
    desk = open_world(TABLES, *stamped_tables(world), *row(1, "first"))
    desk.land()
    versions = {name: desk.versions(name) for name in BOTH}
    exchanged.configure(TABLES)
    exchanged.execute(*tables(exchanged), *row(1, "of another one"))
    for report in replace(desk, shop=exchanged).sync().values():
        assert_told(report, "another database answers", "nothing was changed", "--full-refresh", "reset")
    assert {name: desk.versions(name) for name in BOTH} == versions
    world.configure(TABLES)
    desk.execute(*row(2, "second"))
    desk.land()
    for name in BOTH:
        desk.assert_equal(name)
    desk.assert_tidy(*BOTH)


@scenario(
    "T21",
    "The source is restored from an older copy of its files, and a new row is written to it",
    holds="every table stops with advice in one sentence and its copy stays as it was; after `--full-refresh` or `reset` it goes on and no row is lost",
    long=True,
)
@played_on(*OTHERS)
def test_a_source_restored_from_a_backup_on_each_database(exchanged: World, spark: SparkSession) -> None:
    world, desk = exchanged, _opened(exchanged, spark, MachineClock(pytest.MonkeyPatch())).desk
    desk.execute(*row(1, "first"))
    desk.land()
    with restored(world):
        desk.execute(*row(2, "lost"), *row(3, "lost as well"))
        world.configure(TABLES)
        desk.land()
        before = {name: desk.copy(name) for name in BOTH}
    world.configure(TABLES)
    desk.execute(*row(4, "new"))
    reports = desk.sync()
    if world.title == "SQLite" and not any(report.error for report in reports.values()):
        pytest.xfail(
            "a file with a write-ahead log counts no changes, so that an older copy in its place looks like one that goes on"
        )
    for report in reports.values():
        assert_told(report, "restored from an older copy", "nothing was changed", "--full-refresh", "reset")
    assert {name: desk.copy(name) for name in BOTH} == before
    desk.land("orders", mode=Mode.FULL_REFRESH)
    desk.reset("visits")
    desk.land("visits")
    desk.assert_equal("orders")
    assert [each for each in desk.source("SELECT * FROM visits") if each not in desk.copy("visits")] == []


@contextmanager
def restored(world: World) -> Iterator[None]:
    """At the end of the block the files are as they were at its begin."""
    server = world.server if isinstance(world, MariaWorld) else None
    files = server.data if server else world.folder / "other.db"
    aside = files.with_name("aside")
    for one, other in ((files, aside), (aside, files)):
        if server:
            server.stop()
        subprocess.run(["rm", "-rf", *(f"{other}{end}" for end in ("", "-wal", "-shm"))], check=True)
        subprocess.run(["cp", "-a", one, other], check=True)
        if server:
            server.start()
        if other == aside:
            yield


# --- T24 ----------------------------------------------------------------------------------------------


@scenario(
    "T24",
    "The reading user may not see other users' transactions (no PROCESS) while one is open",
    holds="the run says `best_effort` with its reason and the cure; with the privilege back it says `settled`",
)
@played_on(*OTHERS)
def test_a_reader_that_cannot_see_transactions_on_each_database(world: World, open_world: OpenWorld) -> None:
    if world.title == "SQLite":
        world.spares("a file has no users: whoever may read it sees the lock of whoever writes it")
    desk = open_world(TABLES, *stamped_tables(world), *row(1, "first"))
    with held(world.session()) as other:
        other.run(*row(2, "late"))
        desk.execute("REVOKE PROCESS ON *.* FROM reader@'127.0.0.1'")
        try:
            blind = desk.land()
        finally:
            desk.execute("GRANT PROCESS ON *.* TO reader@'127.0.0.1'")
        other.commit()
    desk.execute(*row(3, "third"))
    seeing = desk.land()

    for report in blind.values():
        assert report.guarantee == "best_effort"
        assert "GRANT PROCESS" in str(report.guarantee_reason)
    assert {report.guarantee for report in seeing.values()} == {"settled"}


@scenario(
    "T24",
    "A session is left idle in a transaction, while rows are written and synced again and again",
    holds="rows land at every sync, the watermark stays before that transaction and the run names who holds it back; what it commits in the end lands",
)
@played_on("mariadb", "mysql")
def test_an_idle_transaction_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = open_world(TABLES, *stamped_tables(world), *row(1, "first"))
    with held(world.session()) as idle:
        idle.run(*row(2, "from the idle one"))
        ((stamp,),) = idle.answer("SELECT at FROM visits WHERE who = 'from the idle one'")
        ((number,),) = idle.answer("SELECT CONNECTION_ID()")
        for more in (3, 4):
            time.sleep(GUARD)
            desk.execute(*row(more, f"quick {more}"))
            for report in desk.land().values():
                assert report.rows.inserted == (2 if more == 3 else 1)
                assert report.new_watermark is not None
                assert report.new_watermark.moment().replace(tzinfo=None) < stamp
                assert f"connection {number}" in str(report.guarantee_reason)
        idle.commit()
    assert {report.rows.late for report in desk.land().values()} == {1}
    for name in BOTH:
        desk.assert_equal(name)
    desk.assert_tidy(*BOTH)


@scenario(
    "T24",
    "A row of a view appears by a change in another table, long after its stamp",
    holds="every run says `best_effort` and why beforehand; a `lookback` as wide as the delay lands the row",
)
@played_on(*OTHERS)
def test_views_on_each_database(world: World, open_world: OpenWorld) -> None:
    views = {"joined": "0s", "joined_wary": "36500d"}
    desk = open_world(
        "\n".join(
            f"- {{table: {{s}}.{name}, cursor: {{column: at, type: {{c}}}}, strategy: append, lookback: {back}}}"
            for name, back in views.items()
        ),
        f"CREATE TABLE base (id int NOT NULL PRIMARY KEY, note varchar(40), at {world.words.bare} NOT NULL)",
        "CREATE TABLE released (id int)",
        *(f"CREATE VIEW {name} AS SELECT b.* FROM base b JOIN released r ON r.id = b.id" for name in views),
        "INSERT INTO released VALUES (1)",
        f"INSERT INTO base VALUES (1, 'seen', {world.words.now})",
        f"INSERT INTO base VALUES (2, 'stamped before it is seen', {world.words.at('2026-01-01 00:00:00')})",
    )
    first = desk.land()
    time.sleep(GUARD)
    desk.land()
    desk.execute("INSERT INTO released VALUES (2)")
    second = desk.land()

    for report in (*first.values(), *second.values()):
        assert report.guarantee == "best_effort"
        assert "it is a view" in str(report.guarantee_reason)
    desk.assert_equal("joined_wary")
    assert len(desk.copy("joined")) == 1, "the story needs a row that comes below the watermark"
