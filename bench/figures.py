"""What was measured, as values: rounds of a contender, contenders of a workload, workloads of a result; and the numbers they come to."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True)
class Round:
    """One process, or one request to a session that stays. Seconds and bytes; None is what this contender cannot tell."""

    wall: float
    inside: float | None = None
    """The tool's own work, without starting and ending a process."""
    cpu: float = 0.0
    peak: int = 0
    """Most memory that its processes held at once, a running engine included."""
    python: int = 0
    """Of that, what Python held."""
    lake: int | None = None
    """Bytes of the files that are new in its lake."""
    written: int = 0
    """Bytes that its processes wrote, whatever became of them."""


@dataclass(frozen=True)
class Played:
    """Every round of one contender. `failed` is the sentence with which it left."""

    name: str
    rounds: tuple[Round, ...] = ()
    failed: str | None = None
    notes: tuple[str, ...] = ()

    def all(self, measure: str) -> list[float]:
        """The measure of every round that has it; nothing of a contender that failed, whatever it did before."""
        if self.failed:
            return []
        found = (getattr(each, measure) for each in self.rounds)
        return [value for value in found if value is not None]

    def median(self, measure: str) -> float | None:
        """None where there is no round to tell of."""
        found = self.all(measure)
        return statistics.median(found) if found else None


@dataclass(frozen=True)
class Result:
    """One workload as it was played. `rows` are those that one round moves, `size` those of its tables."""

    name: str
    title: str
    rows: int
    size: int
    commit: str
    at: str
    load: tuple[float, float]
    """Of the machine, before and after."""
    minutes: float = 0.0
    played: tuple[Played, ...] = ()

    @property
    def most(self) -> int:
        """Rounds of whoever played most of them."""
        return max((len(each.rounds) for each in self.played), default=0)

    def of(self, contender: str) -> Played | None:
        """The contender by its name."""
        return next((each for each in self.played if each.name == contender), None)


@dataclass(frozen=True)
class Span:
    """A part of one process's time."""

    told: str
    seconds: float


@dataclass(frozen=True)
class Results:
    """Everything that the document tells."""

    machine: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False
    minutes: float = 0.0
    workloads: tuple[Result, ...] = ()
    profiles: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    drift: Mapping[str, Any] = field(default_factory=dict)
    """As `bench.drift` tells it; empty where it was not played."""
    compare: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.comparing`."""
    large: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.large`, which is played by name alone."""
    freshness: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.freshness`."""
    backlog: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.backlog`."""
    blocked: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.blocked`."""
    stream: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.stream`."""
    topic: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.topic`."""
    overhead: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.overhead`."""

    files: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.dropped`."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.million`, which is played by name alone."""
    store: Mapping[str, Any] = field(default_factory=dict)
    """Likewise of `bench.store`."""

    def anew(self) -> Self:
        """The results that stay when everything is measured again: those of workloads that run by name alone."""
        return type(self)(large=self.large, names=self.names)

    def steps(self, way: str, measure: str) -> list[float]:
        """What the comparisons, or the full refreshes beside them, came to."""
        return [step[measure] for step in self.compare.get("steps", ()) if step["way"] == way]

    def of_topic(self, way: str) -> list[float]:
        """The seconds of one of those who land what waits in a topic."""
        return [step["seconds"] for step in self.topic.get("steps", ()) if step["way"] == way]

    def of(self, workload: str) -> Result | None:
        """The workload by its name."""
        return next((each for each in self.workloads if each.name == workload), None)

    def median(self, workload: str, contender: str, measure: str) -> float | None:
        """None where it was not measured."""
        result = self.of(workload)
        played = result.of(contender) if result else None
        return played.median(measure) if played else None

    def with_workload(self, result: Result) -> Self:
        """Replaces one of that name, in its place; a new one comes last."""
        if self.of(result.name) is None:
            return replace(self, workloads=(*self.workloads, result))
        there = tuple(result if each.name == result.name else each for each in self.workloads)
        return replace(self, workloads=there)

    def write(self, file: Path) -> None:
        """As JSON."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Self:
        """Empty where there is no such file."""
        if not file.exists():
            return cls()
        said = json.loads(file.read_text(encoding="utf-8"))
        said["workloads"] = tuple(_result(each) for each in said["workloads"])
        said["profiles"] = {name: tuple(Span(**each) for each in spans) for name, spans in said["profiles"].items()}
        return cls(**said)


def percentile(values: Sequence[float], share: int) -> float | None:
    """By linear interpolation between the two nearest; None of fewer than two values."""
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1] if len(values) > 1 else None


def _result(said: dict[str, Any]) -> Result:
    played = tuple(
        Played(each["name"], tuple(Round(**one) for one in each["rounds"]), each["failed"], tuple(each["notes"]))
        for each in said["played"]
    )
    return Result(**{**said, "load": tuple(said["load"]), "played": played})
