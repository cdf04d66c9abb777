"""What we set out to reach, and whether it was: each target is one number of a result, and the most that it may be."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.backlog import AT_ONCE, FEW
from bench.blocked import BLOCKED, CALM
from bench.comparing import COMPARED
from bench.dropped import FIRST as FIRST_FILES
from bench.figures import Results, percentile
from bench.names import (
    CHECK,
    DLT,
    DLT_FILES,
    ENGINE,
    MARIADB,
    OURS,
    POSTGRESQL,
    SESSION,
    SPARK_MERGE,
    SPARK_PARQUET,
    SPARK_STREAM,
)
from bench.overhead import paired
from bench.store import FOLDER, LATE, MANY, ONE, STORE

THOUSAND = Path(__file__).parents[1] / "docs" / "benchmarks-thousand.json"
MIB = 2**20
UNPLAYED = "not measured yet"
AROUND = 2
"""A single tick is as long as the machine lets it be: the 5th and the 50th are medians with two neighbours on either side."""

Reached = Callable[[Results], float | None]


@dataclass(frozen=True)
class Target:
    """`unit` follows the number: `x` for a ratio, `s`, `MiB`, `rows`, `cores`."""

    workload: str
    told: str
    at_most: float
    reached: Reached
    unit: str = "x"

    def verdict(self, results: Results) -> tuple[float | None, str]:
        """The number, and `met`, `missed` or `not measured yet`."""
        reached = self.reached(results)
        if reached is None:
            return None, UNPLAYED
        return reached, "met" if reached <= self.at_most else "missed"


def ratio(workload: str, ours: str, theirs: str, measure: str = "wall", *, against: str | None = None) -> Reached:
    """Our median over theirs, in the same workload unless `against` names another."""

    def reached(results: Results) -> float | None:
        above = results.median(workload, ours, measure)
        below = results.median(against or workload, theirs, measure)
        return None if above is None or not below else above / below

    return reached


def most(workload: str, ours: str, measure: str, unit: float) -> Reached:
    """The largest of our rounds, in units."""

    def reached(results: Results) -> float | None:
        result = results.of(workload)
        played = result.of(ours) if result else None
        found = played.all(measure) if played else []
        return max(found) / unit if found else None

    return reached


def late_over_early(workload: str, ours: str) -> Reached:
    """The last tick of a long row over the 5th."""

    def reached(results: Results) -> float | None:
        result = results.of(workload)
        played = result.of(ours) if result else None
        ticks = played.all("inside") if played else []
        if len(ticks) < 5 + AROUND:
            return None
        early = ticks[4 - AROUND : 5 + AROUND]
        return statistics.median(ticks[-1 - 2 * AROUND :]) / statistics.median(early)

    return reached


def compared(measure: str) -> Reached:
    """The median of the comparisons."""

    def reached(results: Results) -> float | None:
        found = results.steps(COMPARED, measure)
        return statistics.median(found) if found else None

    return reached


def fresh(share: int) -> Reached:
    """The seconds after which so many of a hundred rows were seen."""

    def reached(results: Results) -> float | None:
        return percentile(results.freshness.get("seconds", ()), share)

    return reached


def backlog(way: str) -> Reached:
    """Seconds for a million changes of a backlog, from the slot to the lake: the median of the rounds."""

    def reached(results: Results) -> float | None:
        steps = results.backlog.get("steps", ())
        found = [each["seconds"] for each in steps if each["way"] == way]
        return statistics.median(found) * 1_000_000 / results.backlog["rows"] if found else None

    return reached


def blocked(results: Results) -> float | None:
    """How many times as long a tick takes beside a transaction that stays open: the medians."""
    steps = results.blocked.get("steps", ())
    calm, beside = ([each["seconds"] for each in steps if each["way"] == way] for way in (CALM, BLOCKED))
    return statistics.median(beside) / statistics.median(calm) if calm and beside else None


def topic(results: Results) -> float | None:
    """Seconds of ours for a million changes that wait in a topic: the median of the rounds."""
    found = results.of_topic(SESSION)
    return statistics.median(found) * 1_000_000 / results.topic["rows"] if found else None


def topic_to_spark(results: Results) -> float | None:
    """Our median over that of Spark structured streaming."""
    ours, theirs = results.of_topic(SESSION), results.of_topic(SPARK_STREAM)
    return statistics.median(ours) / statistics.median(theirs) if ours and theirs else None


def overhead(results: Results) -> float | None:
    """How many times as long a tick takes that is observed: the median of the pairs."""
    found = paired(results.overhead.get("steps", ()), "seconds")
    return statistics.median(found) if found else None


def streamed(rate: int, measure: str) -> Reached:
    """What was measured of a stream of that rate."""

    def reached(results: Results) -> float | None:
        found = [each[measure] for each in results.stream.get("steps", ()) if each["rate"] == rate]
        return float(found[0]) if found else None

    return reached


def dropped(results: Results) -> float | None:
    """Our first sync of many files over dlt's: the medians."""
    steps = [each for each in results.files.get("steps", ()) if each["what"] == FIRST_FILES]
    mine, theirs = ([each["seconds"] for each in steps if each["way"] == way] for way in (OURS, DLT_FILES))
    return statistics.median(mine) / statistics.median(theirs) if mine and theirs else None


def look(results: Results) -> float | None:
    """Seconds of a look at a million names after the first: the median."""
    steps = results.names.get("steps", ())
    return statistics.median(each["seconds"] for each in steps[1:]) if len(steps) > 1 else None


def stored(tables: int, way: str) -> Reached:
    """How many times as long a tick of so many tables takes into a store as into a folder: the medians."""

    def reached(results: Results) -> float | None:
        steps = [each for each in results.store.get("steps", ()) if each["tables"] == tables]
        there, here = ([each["seconds"] for each in steps if each["way"] == one] for one in (way, FOLDER))
        return statistics.median(there) / statistics.median(here) if there and here else None

    return reached


def large(results: Results) -> float | None:
    """The most memory of our Python at a step of the large table, in MiB; None where no smaller one was played beside it."""
    steps = _of_tables(results)
    return max(steps[-1]) / MIB if len(steps) > 1 else None


def flat(results: Results) -> float | None:
    """How many times as much that is as at the same steps of the smaller table."""
    steps = _of_tables(results)
    return max(steps[-1]) / max(steps[0]) if len(steps) > 1 else None


def _of_tables(results: Results) -> list[list[int]]:
    """Our Python's memory at each step, table by table; each has as many steps."""
    found = [each["python"] for each in results.large.get("steps", ())]
    each = len(found) // len(results.large.get("tables", ())) if found else 0
    return [found[first : first + each] for first in range(0, len(found), each)] if each else []


def thousand(_: Results) -> float | None:
    """From the other benchmark's own file."""
    return float(json.loads(THOUSAND.read_text(encoding="utf-8"))["seconds"]["tick"]) if THOUSAND.exists() else None


TARGETS = (
    Target("F1", "first load, whole process, to dlt", 0.7, ratio("F1", OURS, DLT)),
    Target("F2", "first load, warm session, to plain Spark JDBC → Parquet", 1.05, ratio("F2", SESSION, SPARK_PARQUET)),
    Target("F3", "eight tables, whole process, to dlt", 0.7, ratio("F3", OURS, DLT)),
    Target("I1", "cold tick, whole process, to dlt", 1.7, ratio("I1", OURS, DLT)),
    Target("I1", "cold tick, whole process, to the Spark MERGE script", 0.3, ratio("I1", OURS, SPARK_MERGE)),
    Target("I2", "I1 with the engine running, inside, to dlt inside", 0.25, ratio("I1", ENGINE, DLT, "inside")),
    Target("I2", "I1 with the engine running, whole process, to dlt", 0.8, ratio("I1", ENGINE, DLT)),
    Target("I3", "eight tables, cold, whole process, to dlt", 2.0, ratio("I3", OURS, DLT)),
    Target("I3", "eight tables, warm, whole process, to dlt", 1.0, ratio("I3", ENGINE, DLT)),
    Target("I4", "fifty tables, cold, whole process, to dlt", 1.0, ratio("I4", OURS, DLT)),
    Target("I4", "fifty tables, warm, whole process, to dlt", 0.6, ratio("I4", ENGINE, DLT)),
    Target("I5", "a thousand tables, nothing moved: probe and decide", 1.0, thousand, "s"),
    Target("I6", "big delta, warm, whole process, to dlt", 0.7, ratio("I6", ENGINE, DLT)),
    Target("G", "time, largest table to smallest, recent keys", 1.2,
           ratio("G large, recent keys", SESSION, SESSION, "inside", against="G small, recent keys")),
    Target("G", "time, largest table to smallest, spread keys", 1.5,
           ratio("G large, spread keys", SESSION, SESSION, "inside", against="G small, spread keys")),
    Target("G", "bytes to the lake, largest table to smallest, recent keys", 1.1,
           ratio("G large, recent keys", SESSION, SESSION, "lake", against="G small, recent keys")),
    Target("G", "bytes to the lake, largest table to smallest, spread keys", 1.1,
           ratio("G large, spread keys", SESSION, SESSION, "lake", against="G small, spread keys")),
    Target("G", "the last tick of a long row to the 5th", 1.3, late_over_early("G small, row of ticks", SESSION)),
    Target("R", "reconciliation and every other check, whole process, to the first load", 0.8,
           ratio("R", CHECK, OURS, against="F1")),
    Target("C", "rows that are read where 500 of a large table have changed", 5_000.0, compared("read"), "rows"),
    Target("DB", "first load, whole process, MariaDB to PostgreSQL", 1.5, ratio("DB load", MARIADB, POSTGRESQL)),
    Target("DB", "tick, whole process, MariaDB to PostgreSQL", 1.2, ratio("DB tick", MARIADB, POSTGRESQL)),
    Target("Q", "from the commit until the row is seen, by the sensor at `every: 1s`, 99 of 100 rows", 4.0, fresh(99), "s"),
    Target("B", "a backlog of the log in one transaction of each kind, seconds per million changes", 8.33, backlog(AT_ONCE), "s"),
    Target("B", "the same in transactions of a hundred, seconds per million changes", 8.33, backlog(FEW), "s"),
    Target("O", "a tick by the log beside a transaction that stays open under gigabytes of it, to one with nothing open", 2.0, blocked),
    Target("T", "a backlog of Debezium's events in a topic of Kafka, seconds per million changes", 40.0, topic, "s"),
    Target("T", "the same, to Spark structured streaming with a MERGE for each batch", 0.33, topic_to_spark),
    Target("S", "1,000 changes a second in the log, from the commit until the lake has it, half of them", 2.0, streamed(1_000, "half"), "s"),
    Target("S", "the same, 99 of 100", 5.0, streamed(1_000, "most"), "s"),
    Target("S", "the same, cores of ours", 0.33, streamed(1_000, "cores"), "cores"),
    Target("S", "10,000 changes a second, half of them", 2.0, streamed(10_000, "half"), "s"),
    Target("S", "the same, 99 of 100", 6.0, streamed(10_000, "most"), "s"),
    Target("V", "a tick with traces and metrics, to one that is observed by nobody", 1.03, overhead),
    Target("X", "ten thousand Parquet files, first sync, whole process, to dlt", 0.2, dropped),
    Target("X", "a look at a million names, after the first", 2.0, look, "s"),
    Target("Y", "a tick of one table into a store, to a folder", 1.5, stored(ONE, STORE)),
    Target("Y", "a tick of fifty tables into a store, to a folder", 1.5, stored(MANY, STORE)),
    Target("Y", "one table, each request 20 ms late, to a folder", 3.0, stored(ONE, LATE)),
    Target("Y", "fifty tables, each request 20 ms late, to a folder", 3.0, stored(MANY, LATE)),
    Target("M", "first load in a JVM of 2 GB: our Python", 500.0, most("M load", OURS, "python", MIB), "MiB"),
    Target("M", "big delta in a JVM of 2 GB: our Python", 500.0, most("M delta", OURS, "python", MIB), "MiB"),
    Target("L", "a table of 200 million rows, and a delta of 24 million, in a JVM of 2 GB: our Python", 500.0, large, "MiB"),
    Target("L", "the same, to a tenth of the rows and of the delta", 1.2, flat),
)  # fmt: skip
