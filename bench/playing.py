"""The referee: every round each contender does the same work on the same rows, in a rotated order, and no time counts before its copy is equal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from bench.contender import Contender, Job
from bench.figures import Played, Result, Round, Span
from bench.measuring import Failed
from bench.profiling import profile
from bench.source import Source, Table, generated, quoted
from bench.verifying import Fingerprint, difference, of_copy, of_csv
from bench.workload import Change, Series, Workload

Each = TypeVar("Each")
WARM = tuple(Table("warm", f"rows_{number}", ("id",)) for number in range(4))
WARM_ROWS = 10_000
WARM_TICKS = 8
"""Of each of these tables, after its first load: a session's first ticks took twice as long as its 20th, and from there on they stayed as they were."""


@dataclass(frozen=True)
class Stand:
    """Where it is played."""

    folder: Path
    source: Source
    rounds: int


@dataclass
class Tally:
    """What is known so far of one contender in one series."""

    rounds: list[Round] = field(default_factory=list)
    failed: str | None = None
    notes: tuple[str, ...] = ()
    done: bool = False

    def of(self, name: str) -> Played:
        """As it is written."""
        return Played(name, tuple(self.rounds), self.failed, self.notes)

    def attempt(self, name: str, what: Callable[[], object]) -> None:
        """Whoever fails is out of this series, and the others go on."""
        if self.failed:
            return
        try:
            what()
        except Failed as error:
            self.failed = str(error)
            say(f"  {name}: failed: {error}")


class Play:
    """One workload on one stand."""

    def __init__(self, workload: Workload, stand: Stand) -> None:
        self._workload, self._stand, self._source = workload, stand, stand.source
        self._folder = stand.folder / workload.name
        self._changes = 0
        self._expected: dict[Table, Fingerprint] = {}
        self._there: set[str] = set()
        self._out: dict[str, str] = {}

    def results(self) -> Iterator[Result]:
        """One per series, as they end."""
        workload = self._workload
        self._wipe(self._folder)
        if workload.schema and workload.make:
            self._source.make_schema(workload.schema)
            workload.make(self._source)
        for series in workload.series:
            yield self._played(series)

    def profiles(self) -> Iterator[tuple[str, tuple[Span, ...]]]:
        """Where the time of one tick goes, for whoever is to be looked into and is still there."""
        for contender in self._workload.profiled:
            if contender.room in self._there and contender.name not in self._out and self._workload.profile_change:
                self._change(self._workload.profile_change, settles=True)
                yield contender.name, profile(contender, self._job(contender))

    def end(self) -> None:
        """Nothing stays but the results."""
        for contender in self._workload.contenders:
            if not contender.shared:
                contender.close()
        if self._workload.schema:
            self._source.drop_schema(self._workload.schema)
        self._wipe(self._folder)

    def _played(self, series: Series) -> Result:
        begun, load, at = time.monotonic(), os.getloadavg()[0], datetime.now(UTC)
        rounds = self._stand.rounds if series.rounds is None else series.rounds
        tallies = {each: Tally(failed=self._out.get(each.name)) for each in series.everybody}
        for contender, tally in tallies.items():
            self._attempt(contender, tally, lambda contender=contender: self._ready(series, contender))
        for number in range(-series.untimed, rounds):
            if series.change:
                self._change(series.change, settles=series.settles)
            for contender in rotated(series.everybody, number):
                tally = tallies[contender]
                if not tally.done:
                    last = number == rounds - 1
                    self._attempt(
                        contender, tally, lambda c=contender, t=tally, n=number, e=last: self._round(series, c, t, n, e)
                    )
        size = self._source.rows(self._workload.tables)
        return Result(
            series.name, series.title, series.rows or size, size, commit(), f"{at:%Y-%m-%d %H:%M} UTC",
            (round(load, 1), round(os.getloadavg()[0], 1)), round((time.monotonic() - begun) / 60, 1),
            tuple(tally.of(each.name) for each, tally in tallies.items()),
        )  # fmt: skip

    def _ready(self, series: Series, contender: Contender) -> None:
        job = self._job(contender)
        contender.prepare(job)
        if series.change and contender.warms and not contender.is_warm:
            self._warm(contender, job)
            contender.is_warm = True
        if series.change and contender.room not in self._there:
            say(f"  {contender.name}: first copy")
            contender.load(job)
            self._there.add(contender.room)

    def _round(self, series: Series, contender: Contender, tally: Tally, number: int, last: bool) -> None:  # noqa: FBT001
        job = self._job(contender)
        if series.fresh:
            self._wipe(job.folder)
            contender.prepare(job)
        os.sync()  # what the one before has written is not written during the time of this one
        measured = contender.run(job)
        self._there.add(contender.room)
        say(f"  {series.name} {'warm-up' if number < 0 else number + 1}: {contender.name} {measured.wall:.2f} s")
        tally.done = contender in series.once and number >= 0
        if contender.verifiable and (last or tally.done or not series.verified_last):
            # Where only the last copy is compared, none of the rounds before it counts without that.
            counted, tally.rounds = tally.rounds, [] if series.verified_last else tally.rounds
            tally.notes = self._verified(contender, job)
            tally.rounds = counted
        if number >= 0:
            tally.rounds.append(measured)

    def _verified(self, contender: Contender, job: Job) -> tuple[str, ...]:
        """What is noted of its copies. Raises Failed where one is not equal."""
        noted: dict[str, None] = {}
        for table in job.tables:
            types = self._source.types(table)
            if table not in self._expected:
                with tempfile.NamedTemporaryFile(dir=self._stand.folder, suffix=".csv") as file:
                    self._source.copy_out(table, Path(file.name))
                    self._expected[table] = of_csv(Path(file.name), types)
            found, notes = of_copy(contender.copy_of(job, table), types)
            wrong = difference(self._expected[table], found)
            if wrong:
                raise Failed(f"{quoted(table)}: {wrong}")
            noted |= dict.fromkeys(notes)
        return tuple(noted)

    def _attempt(self, contender: Contender, tally: Tally, what: Callable[[], None]) -> None:
        """Out of a series is out of those that come after it."""
        tally.attempt(contender.name, what)
        if tally.failed:
            self._out[contender.name] = tally.failed

    def _change(self, change: Change, *, settles: bool) -> None:
        self._changes += 1
        change(self._source, self._changes)
        self._expected.clear()
        if settles:
            self._source.settle()

    def _warm(self, contender: Contender, job: Job) -> None:
        """Such work as will be timed, on rows of no account."""
        small = Job(job.folder / "warm-up", self._source, WARM)
        contender.prepare(small)
        contender.run(small)
        for _ in range(WARM_TICKS):
            for table in WARM:
                touch(table, WARM_ROWS // 100)(self._source, 1)
            self._source.settle()
            contender.run(small)

    def _job(self, contender: Contender) -> Job:
        return Job(self._folder / contender.room, self._source, self._workload.tables)

    def _wipe(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)


def make_warm_up(source: Source) -> None:
    """The small tables on which sessions warm up."""
    source.make_schema(WARM[0].schema)
    for table in WARM:
        source.make(table, generated(WARM_ROWS))


def touch(table: Table, rows: int) -> Change:
    """Changes as many rows, spread evenly over the keys, other ones each time."""

    def change(source: Source, number: int) -> None:
        count = source.one(f"SELECT count(*) FROM {quoted(table)}")
        step = max(1, count // rows)
        source.run(
            f"UPDATE {quoted(table)} SET note = 'changed for the ' || %s || '. time', updated_at = clock_timestamp() "
            "WHERE id %% %s = %s",
            [number, step, number % step],
        )

    return change


def say(what: str) -> None:
    """To whoever waits."""
    print(what, file=sys.stderr, flush=True)


def commit() -> str:
    """Of this checkout, as short as it is unique; `+` where it is not clean."""
    asked = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def rotated(contenders: tuple[Each, ...], number: int) -> tuple[Each, ...]:
    """In the order of a round of that number: each is the first one in its turn."""
    first = number % len(contenders)
    return contenders[first:] + contenders[:first]
