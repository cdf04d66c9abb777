"""Sections of the report that are played apart from it and kept beside it as JSON: other ways through the same scenarios, and the soak."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SOAK = "## Soak"
AFTER_SOAK = "## Bugs we do not have"


@dataclass(frozen=True)
class Way:
    """The scenarios once more, by what is not the default."""

    name: str
    heading: str
    argument: str
    what: str
    """What `make conformance` with this argument does with the scenarios."""

    def file(self, report: Path) -> Path:
        """Where it is kept."""
        return report.with_name(f"{report.stem}-{self.name}.json")

    def lines(self, report: Path) -> Iterable[str]:
        """What it last came to; nothing where it was never played."""
        file = self.file(report)
        if not file.is_file():
            return
        found = json.loads(file.read_text(encoding="utf-8"))
        yield self.heading
        yield ""
        played = "every scenario" if found["is_whole"] else "**a part** of the scenarios"
        yield (
            f"`make conformance ARGS={self.argument}` plays {played} {self.what}: "
            f"**{found['held']} of {len(found['rows'])} hold**, in {found['minutes']} minutes, {found['date']}."
        )
        yield ""
        yield from table(("", "what was done", "what must hold", "result", "seconds"), found["rows"])
        yield ""


ENGINE = Way(
    "engine",
    "## Through an engine",
    "--engine",
    "with the sessions of an engine that runs share, instead of a session of the run's own",
)
SPARK_PLANE = Way(
    "spark-plane",
    "## By Spark's own writers",
    "--plane=spark",
    "without tasks: rows come through Spark's JDBC source where the database has one, and Spark and Delta write every commit but the first of a new table",
)
WAYS = (ENGINE, SPARK_PLANE)


def renew_way(report: Path, way: Way) -> None:
    """Put what was just played in another way into a report that is there."""
    text = report.read_text(encoding="utf-8")
    later = [each.heading for each in WAYS[WAYS.index(way) + 1 :]]
    end = min(text.index(f"{heading}\n") for heading in (*later, SOAK, AFTER_SOAK) if f"{heading}\n" in text)
    section = "".join(f"{line}\n" for line in way.lines(report))
    report.write_text(text[:end].partition(f"{way.heading}\n")[0] + section + text[end:], encoding="utf-8")


def soak(file: Path) -> Iterable[str]:
    """What `make soak` last came to."""
    if not file.is_file():
        return
    found = json.loads(file.read_text(encoding="utf-8"))
    yield SOAK
    yield ""
    lost, weak, doubled = (
        sum(told[name] for told in found["tables"].values()) for name in ("lost_settled", "lost_otherwise", "doubled")
    )
    yield (
        f"`make soak`, {found['minutes']:.0f} minutes: rows lived under {found['transactions']:,} transactions of pgbench, one in fifty slow and one in fifty undone, "
        f"and beside them every writer of the table below. The syncing process was killed {found['kills']} times, every third time it synced through an engine, which another "
        f"user attacked {found['attacks']} times; the source's clock was set {len(found['clock_steps'])} times, back by up to {-min(found['clock_steps'], default=0)} s. "
        f"{found['syncs']:,} syncs landed; they read {found['rows_read']:,} rows, {found['rows_read_twice']:,} of them a second time, and {found['rows_late']:,} had committed late. "
        f"The copies were looked at {found['looks']} times. **Lost under `settled`: {lost}; doubled: {doubled}; lost under a weaker guarantee, which the runs had stated: {weak}; "
        f"faults of every kind: {len(found['faults'])}.** Seed {found['seed']}."
    )
    yield ""
    yield from table(
        ("table", "rows", "runs by guarantee", "lost under `settled`", "lost otherwise", "doubled"),
        [
            (
                name,
                f"{told['rows']:,}",
                ", ".join(f"{count} {word}" for word, count in told["runs"].items()),
                *(str(told[key]) for key in ("lost_settled", "lost_otherwise", "doubled")),
            )
            for name, told in found["tables"].items()
        ],
    )
    yield ""


def renew_soak(report: Path) -> None:
    """Put what `make soak` has just come to into a report that is there."""
    before, following, after = report.read_text(encoding="utf-8").partition(AFTER_SOAK)
    before = before.partition(f"{SOAK}\n")[0]
    section = "".join(f"{line}\n" for line in soak(report.with_name("soak.json")))
    report.write_text(before + section + following + after, encoding="utf-8")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """In Markdown."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
