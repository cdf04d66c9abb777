"""Sections of the report that are played apart from it and kept beside it as JSON: other ways through the same scenarios, and the soak."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.played import BINLOGS, BY_LOG, MAIN, NOT_HERE, NOT_RUN, Played

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

    def report(self, report: Path) -> Path:
        """A name beside the report's, by which its rows are kept as those of the report are by its own."""
        return report.with_name(f"{report.stem}-{self.name}{report.suffix}")

    def lines(self, report: Path) -> Iterable[str]:
        """What it last came to; nothing where it was never played."""
        kept, whole = Played.of(self.report(report)), Played.of(report)
        rows = kept.in_order()
        if not rows:
            return
        played = [row for row in rows if row.outcome not in (NOT_RUN, NOT_HERE)]
        left = sum(test not in kept.rows for test in whole.rows)
        yield self.heading
        yield ""
        yield (
            f"`make conformance ARGS={self.argument}` plays the scenarios {self.what}: "
            f"**{sum(row.outcome == 'holds' for row in played)} of {len(played)} hold**, in {sum(row.seconds for row in rows) / 60:.0f} minutes of play, "
            f"from {min(row.played for row in rows)} to {max(row.played for row in rows)}."
            + (f" **{left} of the scenarios above were not played so.**" if left else "")
        )
        yield ""
        told = [
            (
                row.mark["number"],
                row.mark["done"] if row.database == MAIN else f"on {row.database}: {row.mark['done']}",
                row.mark["holds"],
                row.told,
                f"{row.seconds:.0f}",
            )
            for row in rows
        ]
        yield from table(("", "what was done", "what must hold", "result", "seconds"), told)
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
    "without tasks: rows come through Spark's JDBC source where the database has one, and Spark and Delta write every commit but that of a rename, which is always ours; Spark takes a copy back by writing its rows again",
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
    for name, title in (("log", BY_LOG), ("binlog", BINLOGS["mariadb-log"])):
        yield from _soak_of_log(file.with_name(f"soak-{name}.json"), f"`make soak ARGS=--{name}`", title)


def _soak_of_log(file: Path, command: str, title: str) -> Iterable[str]:
    """What it last came to by a log."""
    if not file.is_file():
        return
    found = json.loads(file.read_text(encoding="utf-8"))
    altered = (
        f", {found['definitions']} statements defined or moved something, {found['altered']} of which stopped a table by name until it was loaded again"
        if "altered" in found
        else ""
    )
    yield (
        f"{command}, {found['minutes']:.0f} minutes: eight writers moved money between accounts in {found['transactions']:,} transactions of tables that are read from "
        f"{title}, and {found['long_transactions']} others were open for up to 150 s, {found['undone']} of which were undone{altered}. The syncing process was killed {found['kills']} "
        f"times, {found['syncs']:,} syncs landed, and after each kill the copies were looked at, whether each is the table at one place of the log and none goes back. "
        f"**Of {found['rows']:,} rows at the end none was lost or doubled; faults of every kind: {len(found['faults'])}.** Seed {found['seed']}."
        if not found["faults"]
        else f"{command} found **{len(found['faults'])} faults**: {'; '.join(found['faults'][:5])}."
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
