"""docs/benchmarks.md, made of the results: no figure in it is typed in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figures import Played, Result, Results
from bench.names import FIRST
from bench.report_words import HOW, ONCE, QUICK, TRIED
from bench.targets import TARGETS, THOUSAND

ORDER = ("F1", "F1 orders", "F2", "F3", "I1", "I3", "I4", "I6", "R", "M load", "M delta")
GROWTH = "G "
MIB, GIB = 2**20, 2**30


def document(results: Results, picture: Path) -> str:
    """The whole page."""
    parts = [_head(results), _targets(results), f"![Median seconds of each contender, workload by workload]({picture})"]
    parts.append("## The workloads")
    parts += [_workload(result) for name in ORDER if (result := results.of(name))]
    parts += [part for part in (_thousand(), _growth(results), _profiles(results)) if part]
    parts += [TRIED, HOW]
    return "\n\n".join(parts) + "\n"


def _head(results: Results) -> str:
    machine, tools = results.machine, results.tools
    where = (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB of memory, {machine['system']}, "
        f"PostgreSQL {machine['postgresql']}, Java {machine['java']}, Python {machine['python']}"
    )
    against = ", ".join(f"{name} {version}" for name, version in tools.items())
    how = f"`make bench{' ARGS=--quick' if results.quick else ''}`"
    minutes = f"{results.minutes or sum(each.minutes for each in results.workloads):.0f} minutes"
    pieces = "" if results.minutes else ", some workloads at a time (`--only`)"
    lines = [
        "# Benchmarks",
        "",
        f"Made by {how} in {minutes}{pieces}, from `benchmarks.json`; not written by hand.",
        "",
        f"* **Machine**: {where}.",
        f"* **Against**: {against}.",
    ]
    return "\n".join([*lines, "", QUICK] if results.quick else lines)


def _targets(results: Results) -> str:
    verdicts = [(target, *target.verdict(results)) for target in TARGETS]
    said = [verdict for _, _, verdict in verdicts]
    counted = ", ".join(f"{said.count(word)} {word}" for word in ("met", "missed", "not measured") if word in said)
    rows = [
        (
            target.workload,
            target.told,
            f"≤ {_number(target.at_most, target.unit)}",
            "" if reached is None else _number(reached, target.unit),
            f"**{verdict}**" if verdict == "missed" else verdict,
        )
        for target, reached, verdict in verdicts
    ]
    head = ("", "median to median", "target", "measured", "")
    return "\n\n".join(["## What was to be reached", f"Of {len(TARGETS)} targets: {counted}.", _table(head, rows, 2)])


def _workload(result: Result) -> str:
    ours = next((played for name in FIRST if (played := result.of(name)) and played.median("wall")), None)
    head = ("", "rounds", "seconds", "least to most", "to ours", "inside", "rows/s", "new in the lake", "written in all",
            "memory", "of it Python", "processor s")  # fmt: skip
    rows = [_contender(played, ours, result.rows) for played in result.played if not played.failed]
    before, after = result.load
    when = f"commit {result.commit}, {result.at}, load of the machine {before} before and {after} after"
    lines = [
        f"### {result.name}: {result.title}",
        f"{result.rows:,} rows a round; {when}.",
        _table(head, rows, 1) if rows else "",
        *(f"* **{played.name}** failed: {played.failed}" for played in result.played if played.failed),
        *(f"* {played.name} {note}." for played in result.played for note in played.notes),
    ]
    if any(0 < len(played.rounds) < result.most for played in result.played if not played.failed):
        lines.append(ONCE)
    return "\n\n".join(line for line in lines if line)


def _contender(played: Played, ours: Played | None, rows: int) -> tuple[str, ...]:
    wall, mine = played.median("wall") or 0.0, ours.median("wall") if ours else None
    all_ = played.all("wall")
    return (
        played.name,
        str(len(all_)),
        f"{wall:.2f}",
        f"{min(all_):.2f} to {max(all_):.2f}",
        f"{wall / mine:.2f}x" if mine else "",
        _seconds(played.median("inside")),
        f"{rows / wall:,.0f}",
        _bytes(played.median("lake")),
        _bytes(played.median("written")),
        _bytes(max(played.all("peak"))),
        _bytes(max(played.all("python"))),
        _seconds(played.median("cpu")),
    )


def _thousand() -> str:
    if not THOUSAND.exists():
        return ""
    told = json.loads(THOUSAND.read_text(encoding="utf-8"))
    asked = ", ".join(
        f"{count} {name.partition(', ')[2]}" for name, count in told["counts"].items() if "three ticks" in name
    )
    return (
        f"### I5: {told['tables']:,} tables, nothing moved\n\n"
        f"`make thousand` measures it: a look at all of them, and the decision, takes {told['seconds']['tick']:.2f} s, without a JVM; "
        f"three of them in one process cost the source {asked}. A `sync` by hand takes {told['seconds']['sync, nothing moved']:.1f} s, "
        f"loading the definitions {told['seconds']['definitions load']:.1f} s ([benchmarks-thousand.json]({THOUSAND.name}))."
    )


def _growth(results: Results) -> str:
    found = [result for result in results.workloads if result.name.startswith(GROWTH)]
    if not found:
        return ""
    rows = [
        (
            result.title,
            played.name,
            _seconds(played.median("inside")) or f"failed: {played.failed}",
            _bytes(played.median("lake")),
            _bytes(max(played.all("peak"), default=None)),
        )
        for result in found
        for played in result.played
    ]
    table = _table(("", "", "inside", "new in the lake", "memory"), rows, 2)
    lines = ["### G: growth", "The same changes into tables of three sizes.", table]
    lines += [_row_of_ticks(result) for result in found if result.name.endswith("row of ticks")]
    return "\n\n".join(lines)


def _row_of_ticks(result: Result) -> str:
    (played,) = result.played
    ticks = played.all("inside")
    if not ticks:
        return ""
    every = max(1, len(ticks) // 10)
    shown = [(f"{number + 1}", f"{ticks[number]:.2f}") for number in range(every - 1, len(ticks), every)]
    return f"Each tick of the row of {len(ticks)}, every {every}th shown:\n\n" + _table(
        ("tick", *(number for number, _ in shown)), [("seconds", *(seconds for _, seconds in shown))], 1
    )


def _profiles(results: Results) -> str:
    lines = ["## Where the time of a tick goes"] if results.profiles else []
    for name, spans in results.profiles.items():
        whole = sum(span.seconds for span in spans)
        rows = [
            (span.told, f"{span.seconds:.1f}", f"{span.seconds / whole:.0%}") for span in spans if span.seconds >= 0.05
        ]
        rest = sum(span.seconds for span in spans if span.seconds < 0.05)
        rows += [("parts of less than 50 ms", f"{rest:.1f}", f"{rest / whole:.0%}")] if rest else []
        lines += [f"{name}, one tick of I1: {whole:.1f} s.", _table(("", "seconds", ""), rows, 1)]
    return "\n\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], text: int) -> str:
    """`text` columns stand left, the others are numbers."""
    return "\n".join(_lines(head, rows, text))


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]], text: int) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join('---' if number < text else '---:' for number in range(len(head)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _number(value: float, unit: str) -> str:
    return f"{value:.2f}x" if unit == "x" else f"{value:,.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _bytes(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value / GIB:.1f} GiB" if value >= GIB else f"{value / MIB:.1f} MiB"
