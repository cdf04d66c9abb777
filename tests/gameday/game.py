"""One game: something is broken, an alert fires, its runbook is played word by word, and all is well again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.gameday.deployment import Watched
from tests.gameday.runbook import Runbook
from tests.gameday.watching import Alarm

_OF_A_SLOW_MACHINE = {"NobodyLooks", "FreshnessBudgetBurns", "HeldBack"}
"""At a sixtieth of their time these fire for a run that takes half a minute, as it would for one of half an hour."""
_BUSY = 4
_SOON = 240
"""Seconds within which an alert has to fire, and be over."""


@dataclass
class Step:
    """A command of the runbook and what it said, or what a person did besides (`status` is None)."""

    part: str
    line: str
    status: int | None = None
    said: str = ""


@dataclass
class Fired:
    """`noticed`: seconds from the fault until the expression held; `fired`: until the alert was sent."""

    alert: str
    of: str
    severity: str
    noticed: float
    fired: float


@dataclass
class Told:
    """What the report has of a game."""

    title: str
    fault: str = ""
    fired: list[Fired] = field(default_factory=list)
    alone: float | None = None
    """Seconds until it had healed by itself, without an alert."""
    steps: list[Step] = field(default_factory=list)
    runbooks: list[str] = field(default_factory=list)
    healed: float = 0
    over: float = 0

    @property
    def document(self) -> dict[str, Any]:
        return asdict(self)


class Game:
    """Played on a deployment that is well."""

    def __init__(self, deployment: Watched, title: str) -> None:
        self.deployment, self.told = deployment, Told(title)
        self._broken = self._fixing = 0.0
        self._before = {(each.name, each.of) for each in deployment.watch.alarms() if each.state == "firing"}

    def breaks(self, fault: str, do: Callable[[], object] = lambda: None) -> None:
        """In the words of the report."""
        self.told.fault = fault
        do()
        self._broken = time.time()

    def fires(self, alert: str, of: str, seconds: float = _SOON) -> None:
        """Waits for it."""
        self.deployment.wait(lambda: self._of(alert, of), seconds)
        found = self._of(alert, of)
        assert found
        self._note(found)

    def stays_quiet(self, *names: str) -> None:
        """No alert fires, and the copies become equal to their source, with nobody doing anything."""
        self.deployment.move()
        self.deployment.wait(lambda: self.deployment.is_equal(*names))
        self._is_exported()
        for each in self._new():
            of_another = names and "." in each.of and each.of.rpartition(".")[2] not in names
            assert of_another or each.name in _OF_A_SLOW_MACHINE, each
            self._note(each)

    def stays_quiet_and_heals(self) -> None:
        """The same of all, and that is the end of it."""
        self.stays_quiet()
        self.told.alone = round(time.time() - self._broken, 1)

    def looks(self, runbook: str, *words: str) -> None:
        """Its part "Look", whatever the commands exit with; the words are in what they say."""
        self.told.runbooks.append(runbook)
        said = "".join(self._step(runbook, "Look", line).said for line in _lines(runbook, "Look"))
        for word in words:
            assert word in said, (word, said)

    def by_hand(self, what: str, do: Callable[[], object]) -> None:
        """What no command of ours does."""
        self._begin()
        self.told.steps.append(Step("Fix", what))
        do()

    def fixes(self, runbook: str, block: int | None = None) -> None:
        """Its part "Fix", or one block of it where the page has a choice."""
        self._begin()
        for line in _lines(runbook, "Fix", block):
            step = self._step(runbook, "Fix", line)
            assert step.status == 0, step

    def fixes_another(self, line: str) -> None:
        """The page's command, of a table that it does not name."""
        self._begin()
        step = self._step(self.told.runbooks[-1], "Fix", line)
        assert step.status == 0, step

    def verifies(self, runbook: str, *names: str) -> None:
        """Its part "Verify"; the copies are equal to their source then, and nothing fires that the fault has caused."""
        for line in _lines(runbook, "Verify"):
            step = self._step(runbook, "Verify", line)
            assert step.status == 0, step
        self.is_well(*names)

    def is_well(self, *names: str) -> None:
        """Rows move, and no alert is left."""
        self.deployment.move()
        self.deployment.wait(lambda: self.deployment.is_equal(*names))
        self._is_exported()
        self.told.healed = round(time.time() - (self._fixing or self._broken), 1)
        for each in self._new():
            self._note(each)
        self.deployment.wait(lambda: not self.deployment.watch.firing(), 2 * _SOON)
        self.told.over = round(time.time() - (self._fixing or self._broken), 1)

    def _is_exported(self) -> None:
        """The exporter knows of what has landed since, whatever was done to what it reads."""
        landed = "max(incremental_assets_landed_timestamp_seconds)"
        self.deployment.wait(lambda: (self.deployment.watch.value(landed) or 0) > self._broken)

    def _begin(self) -> None:
        self._fixing = self._fixing or time.time()

    def _step(self, runbook: str, part: str, line: str) -> Step:
        done = self.deployment.run(line)
        while done.returncode == _BUSY and part != "Look":
            # A run of the sensor is at it just then: once more, as the page has it.
            done = self.deployment.run(line)
        said = _without_places((done.stdout + done.stderr).strip(), str(self.deployment.folder))
        assert "Traceback" not in said, said
        step = Step(f"{part}, {runbook}", line, done.returncode, said)
        self.told.steps.append(step)
        return step

    def _of(self, alert: str, of: str) -> Alarm | None:
        found = (each for each in self.deployment.watch.alarms() if (each.name, each.of) == (alert, of))
        return next((each for each in found if each.state == "firing" and not each.is_slow), None)

    def _new(self) -> list[Alarm]:
        firing = (each for each in self.deployment.watch.alarms() if each.state == "firing" and not each.is_slow)
        return [each for each in firing if (each.name, each.of) not in self._before]

    def _note(self, found: Alarm) -> None:
        if (found.name, found.of) in {(each.alert, each.of) for each in self.told.fired}:
            return
        noticed, fired = max(0.0, found.since - self._broken), time.time() - self._broken
        self.told.fired.append(Fired(found.name, found.of, found.severity, round(noticed), round(fired)))


def _lines(runbook: str, part: str, block: int | None = None) -> list[str]:
    blocks = Runbook.of(runbook).blocks[part]
    return [line for each in (blocks if block is None else [blocks[block]]) for line in each]


def _without_places(said: str, folder: str) -> str:
    """Folders of a test's own are of no interest, nor are ports."""
    return re.sub(r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:5432", said.replace(folder, "/srv/incremental-assets"))
