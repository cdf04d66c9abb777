"""A source, a lake and a memory, and the processes that sync between them: each can be killed, put to sleep or met at any moment."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Event
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Lease, Ports, Registrar
from incremental_assets.core.syncing.sync import sync_table
from tests.fakes.checkpoints import FakeCheckpoints, Memory
from tests.fakes.database import SimulatedDatabase
from tests.fakes.lake import FakeLake
from tests.fakes.recorder import Recorder
from tests.fakes.rows import Row
from tests.fakes.source import FakeProbe, FakeSource
from tests.fakes.stage import FakeStage


class Killed(BaseException):
    """`kill -9`: nothing that the process does afterwards has an effect."""


class Process:
    """One process that syncs. It meets a moment before and after each call of a port, and inside of a staging and a commit."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.moments: list[str] = []
        """Every moment met so far."""
        self.kill_at: int | None = None
        """The number of the moment at which it is killed, counted from 0."""
        self.at: dict[str | int, Callable[[], object]] = {}
        """What the world does meanwhile, once, by a moment's name or number. What it raises is an error of that port."""
        self.on_death: Callable[[], object] = lambda: None

    def meet(self, moment: str) -> None:
        """The world may act now; a process that was killed gets no further."""
        if not self.alive:
            raise Killed(self.name)
        number = len(self.moments)
        self.moments.append(moment)
        happening = self.at.pop(moment, None) or self.at.pop(number, None)
        if happening is not None:
            happening()
        if number == self.kill_at:
            self.kill()
        if not self.alive:
            raise Killed(f"{self.name} at {moment}")

    def kill(self) -> None:
        """From the next moment on."""
        self.alive = False
        self.on_death()


class Sleeper:
    """A sync in a thread of its own that falls asleep at a moment and goes on when it is woken."""

    def __init__(self, process: Process, moment: str | int, run: Callable[[], SyncReport]) -> None:
        self._met, self._woken, self._done = threading.Event(), threading.Event(), False
        self._process, self._moment, self._run = process, moment, run
        self.report: SyncReport | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._live, daemon=True)
        meet = process.meet

        def meet_or_sleep(name: str) -> None:
            meet(name)
            if moment in (name, len(process.moments) - 1) and not self._met.is_set():
                self._met.set()
                self._woken.wait(60)

        process.meet = meet_or_sleep  # type: ignore[method-assign]
        self._thread.start()
        self._met.wait()

    @property
    def is_asleep(self) -> bool:
        """False when it was done before it came to that moment."""
        return not self._done

    def wake(self) -> None:
        """Let it go on to its end, and wait for that."""
        self._woken.set()
        self._thread.join(60)

    def _live(self) -> None:
        try:
            self.report = self._run()
        except BaseException as error:  # noqa: BLE001 - whatever it died of is what the test looks at
            self.error = error
        finally:
            self._done = True
            self._met.set()


class Watched:
    """A port whose every call is met before and after."""

    def __init__(self, port: object, process: Process) -> None:
        self._port, self._process = port, process

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._port, name)
        if name == "rows" and isinstance(self._port, FakeProbe):
            return self  # what a probe's rows are asked are calls of it, too
        if not callable(member):
            return member

        def call(*arguments: object, **named: object) -> Any:
            self._process.meet(f"before {name}")
            answer = member(*arguments, **named)
            if isinstance(answer, AbstractContextManager):
                return self._entered(name, answer)
            self._process.meet(f"after {name}")
            return answer

        return call

    @contextmanager
    def _entered(self, name: str, manager: AbstractContextManager[Any]) -> Iterator[Any]:
        with manager as entered:
            self._process.meet(f"after {name}")
            yield _WatchedLease(entered, self._process) if name == "lease" else entered


class _WatchedLease:
    def __init__(self, lease: Lease, process: Process) -> None:
        self._lease, self._process = lease, process

    def record(self, event: Event) -> None:
        self._process.meet(f"before {event.kind}")
        self._lease.record(event)
        self._process.meet(f"after {event.kind}")


_numbers = itertools.count(1)


@dataclass
class World:
    """Everything that outlives a process."""

    database: SimulatedDatabase
    memory: Memory = field(default_factory=Memory)
    stage: FakeStage = field(default_factory=FakeStage)
    lake: FakeLake = field(init=False)
    observer: Recorder = field(default_factory=Recorder)
    registrar: Registrar | None = None

    def __post_init__(self) -> None:
        self.lake = FakeLake(self.stage, database=self.database)

    @classmethod
    def of(cls, *shapes: TableShape) -> World:
        """A world around a database with these tables, at 10:00 on 31 January 2024."""
        return cls(SimulatedDatabase(*shapes))

    @property
    def checkpoints(self) -> FakeCheckpoints:
        """The memory, as a process that only looks sees it."""
        return FakeCheckpoints(self.memory)

    def process(self, name: str = "") -> Process:
        """A new process on this host, whose lease is free as soon as it is killed."""
        process = Process(name or f"host:{next(_numbers)}")
        process.on_death = lambda: self.memory.gone.add(process.name)
        return process

    def ports(self, process: Process | None = None) -> Ports:
        """The five doors, as one process uses them."""
        process = process or self.process()
        stage = replace(self.stage, moment=process.meet)
        lake = replace(self.lake, stage=stage, moment=process.meet, meanwhile=process.meet)
        checkpoints = FakeCheckpoints(self.memory, process.name, lambda: process.alive)
        return Ports(
            probe=Watched(FakeProbe(self.database), process),
            source=Watched(FakeSource(self.database), process),
            stage=Watched(stage, process),
            lake=Watched(lake, process),
            checkpoints=Watched(checkpoints, process),
            observer=self.observer,
            registrar=self.registrar,
        )

    def sync(
        self, spec: TableSpec, *, process: Process | None = None, mode: Mode = Mode.SYNC, allow_shrink: bool = False
    ) -> SyncReport:
        """One sync."""
        return sync_table(spec, self.request(mode, allow_shrink=allow_shrink), self.ports(process))

    def backfill(self, spec: TableSpec, window: Window | None, *, process: Process | None = None) -> SyncReport:
        """One backfill."""
        return sync_table(spec, self.request(Mode.BACKFILL, window=window), self.ports(process))

    def asleep(self, spec: TableSpec, moment: str | int, request: Request | None = None) -> Sleeper:
        """A sync that sleeps at a moment, by its name or its number."""
        process = self.process()
        asked = request or self.request(Mode.SYNC)
        return Sleeper(process, moment, lambda: sync_table(spec, asked, self.ports(process)))

    def request(self, mode: Mode, *, window: Window | None = None, allow_shrink: bool = False) -> Request:
        """A request under a run id of its own."""
        return Request(f"run-{next(_numbers)}", mode, window, allow_shrink)

    def pass_time(self, seconds: float) -> None:
        """For everybody: the source, and the leases."""
        self.database.tick(seconds)
        self.memory.clock += seconds

    def rows(self, table: TableId) -> list[Row]:
        """What the lake holds."""
        return self.lake.landed(table)
