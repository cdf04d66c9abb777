"""The parts of docs/benchmarks.md of the workloads that have a server, or a folder, of their own: each is empty where it was not played."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from bench.blocked import WAYS
from bench.comparing import CHANGES
from bench.dropped import FIRST as FIRST_FILES
from bench.dropped import NEW, ROWS, TICK
from bench.dropped import WAYS as BOTH
from bench.figures import Results, percentile
from bench.freshness import PARTS
from bench.overhead import CHANGED, paired
from bench.overhead import WAYS as WATCHED
from bench.report_format import bytes_of, seconds_of, tabled, thousands
from bench.store import MANY, ONE
from bench.store import WAYS as LAKES


def sections(results: Results) -> tuple[str, ...]:
    """All of them, in the order of the page."""
    return (
        _drift(results),
        _compare(results),
        _large(results),
        _freshness(results),
        _backlog(results),
        _blocked(results),
        _topic(results),
        _stream(results),
        _overhead(results),
        _files(results),
        _names(results),
        _store(results),
    )


def _when(measured: Mapping[str, Any]) -> str:
    before, after = measured["load"]
    return f"commit {measured['commit']}, {measured['at']}, machine load {before} before and {after} after"


def _drift(results: Results) -> str:
    measured = results.drift
    if not measured:
        return ""
    rows = [
        (
            step["told"],
            f"{step['seconds']:.1f}",
            f"{step['cpu']:.1f}",
            *(thousands(step[name]) for name in ("lines", "read")),
        )
        for step in measured["steps"]
    ]
    lines = [
        f"### D: drift and deletes in a table of {measured['rows']:,} rows",
        f"Measured once, the first four in an open session and the last in one that begins with it; {_when(measured)}.",
        "Processor seconds are those of our processes and of the source.",
        tabled(("", "seconds", "processor s", "lines that the source sent to be compared", "rows read"), rows, 1),
    ]
    lines += [
        f"The source counted {thousands(step['key_index_scans'])} scans of the key's index during the last one, one of them for each key that is looked up by itself, "
        f"and {thousands(step['table_scans'])} of the whole table."
        for step in measured["steps"]
        if "key_index_scans" in step
    ]
    return "\n\n".join(lines)


def _compare(results: Results) -> str:
    measured = results.compare
    if not measured:
        return ""
    head = ("", "rounds", "seconds", "least to most", "processor s", "lines to be compared", "rows read", "sent by the source", "new in the lake")  # fmt: skip
    lines = [
        f"### C: {CHANGES} changed rows of {measured['rows']:,}, and nothing in a row shows that it changed",
        f"Syncs in an open session, alternating; {_when(measured)}.",
        tabled(head, [_way(results, way, sent) for way, sent in measured["sent"].items()], 1),
    ]
    return "\n\n".join(lines)


def _large(results: Results) -> str:
    measured = results.large
    if not measured:
        return ""
    rows = [
        (
            step["told"],
            f"{step['seconds']:.1f}",
            f"{step['cpu']:.1f}",
            thousands(step["read"]),
            *(bytes_of(step[name]) for name in ("lake", "peak", "java", "python")),
        )
        for step in measured["steps"]
    ]
    head = ("", "seconds", "processor s", "rows read", "new in the lake", "memory", "of it the JVM", "of it Python")
    lines = [
        f"### L: a table of {' rows, and one of '.join(f'{each:,}' for each in measured['tables'])} rows",
        f"Syncs in an open session, in a JVM whose heap is {measured['heap']}, each measured once; the changed rows are spread over the keys; {_when(measured)}.",
        "Processor seconds and memory are those of our processes and of the source; what is neither the JVM nor Python is the source.",
        tabled(head, rows, 1),
    ]
    return "\n\n".join(lines)


def _backlog(results: Results) -> str:
    measured = results.backlog
    if not measured:
        return ""
    rows = [
        (
            step["told"],
            f"{step['seconds']:.1f}",
            f"{step['cpu']:.1f}",
            thousands(round(measured["rows"] / step["seconds"], -3)),
            thousands(step["read"]),
        )
        for step in measured["steps"]
    ]
    head = ("", "seconds", "processor s", "changes a second", "rows read")
    lines = [
        f"### B: a backlog of {measured['rows']:,} changes in PostgreSQL's log",
        "A table of ten columns; half of the changes are rows that come, and half change rows that are there. Processor seconds are those of our processes and of the source; rows read are one for each key.",
        f"Syncs in an open session, from the slot to the lake, until nothing is left; {_when(measured)}.",
        tabled(head, rows, 1),
    ]
    return "\n\n".join(lines)


def _topic(results: Results) -> str:
    measured = results.topic
    if not measured:
        return ""
    rows = [
        (
            step["told"],
            f"{step['seconds']:.1f}",
            f"{step['cpu']:.1f}",
            thousands(round(measured["rows"] / step["seconds"], -2)),
        )
        for step in measured["steps"]
    ]
    lines = [
        f"### T: a backlog of {measured['rows']:,} changes in a topic of Kafka",
        "Debezium's events in JSON without a schema, of a table of ten columns; half of the changes are rows that come, and the others change rows that are there, or remove them. Processor seconds are those of all processes, of the broker and of the session that waits as well.",
        f"In sessions that are open, from the topic to the lake, until nothing is left, by turns; {_when(measured)}.",
        tabled(("", "seconds", "processor s", "changes a second"), rows, 1),
    ]
    return "\n\n".join(lines)


def _blocked(results: Results) -> str:
    measured = results.blocked
    if not measured:
        return ""
    found = {way: [each for each in measured["steps"] if each["way"] == way] for way in WAYS}
    rows = [
        (
            f"{len(steps)} {'tick' if len(steps) == 1 else 'ticks'} {way}",
            *(f"{statistics.median(each[which] for each in steps):.2f}" for which in ("seconds", "cpu")),
        )
        for way, steps in found.items()
        if steps
    ]
    lines = [
        f"### O: a transaction that stays open under {measured['rows']:,} MiB of PostgreSQL's log",
        "Half of the log is of small transactions, half of a huge one that is open too, in a table that nobody reads. A tick lands a thousand changes, in an open session, and each copy is proven. Processor seconds are those of our processes and of the source.",
        f"Medians; {_when(measured)}.",
        tabled(("", "seconds", "processor s"), rows, 1),
    ]
    return "\n\n".join(lines)


def _stream(results: Results) -> str:
    measured = results.stream
    if not measured:
        return ""
    rows = [
        (
            thousands(step["rate"]),
            thousands(step["transactions"]),
            *(seconds_of(step[which]) for which in ("half", "most", "longest")),
            f"{step['cores']:.2f}",
        )
        for step in measured["steps"]
    ]
    head = ("changes a second", "transactions", "half of them", "99 of 100", "the longest", "cores of ours")
    lines = [
        f"### S: a stream of changes in PostgreSQL's log, over {measured['tables']} tables",
        f"For {measured['for']} seconds at each rate, a hundred transactions a second, by `sync --follow` at `every: 2s`, beside writer and source on the same machine; each copy is proven at the end.",
        f"Seconds from the answer to each commit until the lake has it; {_when(measured)}.",
        tabled(head, rows, 1),
    ]
    return "\n\n".join(lines)


def _overhead(results: Results) -> str:
    measured = results.overhead
    if not measured:
        return ""
    pairs = len(paired(measured["steps"], "seconds"))
    rows = [
        (
            way,
            *(
                f"{statistics.median(each[which] for each in measured['steps'] if each['way'] == way):.3f}"
                for which in ("seconds", "cpu")
            ),
        )
        for way in WATCHED
    ]
    ratios = (f"{statistics.median(paired(measured['steps'], which)):.3f}x" for which in ("seconds", "cpu"))
    lines = [
        f"### V: {pairs} ticks with traces and metrics, and {pairs} without",
        f"A tick lands {CHANGED:,} changed rows of {measured['rows']:,}, in an open session, in alternating order, and each copy is proven. Traces go to a collector; a `metrics` server is asked as each tick begins. Processor seconds are those of our process and of the source.",
        f"Medians, and in the last line those of the ratios of each pair; {_when(measured)}.",
        tabled(("", "seconds", "processor s"), [*rows, ("ratio", *ratios)], 1),
    ]
    return "\n\n".join(lines)


def _files(results: Results) -> str:
    measured = results.files
    if not measured:
        return ""
    told = {FIRST_FILES: f"first sync of {measured['rows']:,} files", TICK: f"tick: {NEW} new files"}
    rows = []
    for what, words in told.items():
        for way in BOTH:
            steps = [each for each in measured["steps"] if (each["what"], each["way"]) == (what, way)]
            if steps:
                seconds = [each["seconds"] for each in steps]
                spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
                rows.append(
                    (
                        words,
                        way,
                        str(len(steps)),
                        seconds_of(statistics.median(seconds)),
                        spread,
                        seconds_of(statistics.median(each["cpu"] for each in steps)),
                        bytes_of(max(each["peak"] for each in steps)),
                    )
                )
    lines = [
        f"### X: {measured['rows']:,} Parquet files of {ROWS:,} rows each in a folder",
        "Whole processes, alternating; a first sync begins with nothing, a tick with all files but the new ones. Both append each row, into a Delta table, and each copy is proven.",
        f"Measured at {_when(measured)}.",
        tabled(("", "", "rounds", "seconds", "least to most", "processor s", "memory"), rows, 2),
    ]
    return "\n\n".join(lines)


def _names(results: Results) -> str:
    measured = results.names
    if not measured:
        return ""
    rows = [
        (each["told"], seconds_of(each["seconds"]), f"{each['cpu']:.1f}", bytes_of(each["python"]))
        for each in measured["steps"]
    ]
    lines = [
        f"### X: looks at a folder of {measured['rows']:,} files, none of them new",
        "A sync that finds nothing, in an open session that has landed all of them, one after the other; the list is held against the ledger. Memory is what Python held.",
        f"Measured at {_when(measured)}.",
        tabled(("", "seconds", "processor s", "memory"), rows, 1),
    ]
    return "\n\n".join(lines)


def _store(results: Results) -> str:
    measured = results.store
    if not measured:
        return ""
    rows = []
    for tables in (ONE, MANY):
        for way in LAKES:
            steps = [each for each in measured["steps"] if (each["tables"], each["way"]) == (tables, way)]
            if steps:
                seconds = [each["seconds"] for each in steps]
                counted = [each for each in steps if each["requests"] is not None]
                asked, size = (
                    statistics.median(each[which] for each in counted) if counted else None
                    for which in ("requests", "bytes")
                )
                rows.append(
                    (
                        f"{tables} {'table' if tables == 1 else 'tables'} into {way}",
                        str(len(steps)),
                        seconds_of(statistics.median(seconds)),
                        f"{min(seconds):.2f} to {max(seconds):.2f}",
                        seconds_of(statistics.median(each["cpu"] for each in steps)),
                        thousands(asked),
                        bytes_of(size),
                    )
                )
    lines = [
        f"### Y: ticks into a lake in a store, {measured['changed']} changed rows of {measured['rows']:,} in each table",
        "SeaweedFS on this machine; syncs in an open session, alternating, and each copy is proven. Requests and bytes, of both directions, are counted by the port that makes requests late, so that they are the same without it.",
        f"Measured at {_when(measured)}.",
        tabled(("", "rounds", "seconds", "least to most", "processor s", "requests", "bytes"), rows, 1),
    ]
    return "\n\n".join(lines)


def _freshness(results: Results) -> str:
    measured = results.freshness
    if not measured:
        return ""
    seconds, parts = measured["seconds"], measured["parts"]
    spread = [
        seconds_of(value) for value in (*(percentile(seconds, share) for share in (50, 99)), min(seconds), max(seconds))
    ]
    medians = [
        (part, seconds_of(statistics.median(values)))
        for part, values in zip(PARTS, zip(*parts, strict=True), strict=False)
    ]
    lines = [
        f"### Q: from the commit until the row is seen, by the sensor at `every: {measured['every']}s`",
        f"{measured['rows']} rows, one after the other; {_when(measured)}.",
        tabled(("", "half of them", "99 of 100", "least", "most"), [("seconds", *spread)], 1),
        f"{len(parts)} of them were landed by a run that was requested for them; the others by one that was under way. The medians of the former:",
        tabled(("", "seconds"), medians, 1) if medians else "",
    ]
    return "\n\n".join(line for line in lines if line)


def _way(results: Results, way: str, sent: int) -> tuple[str, ...]:
    """The medians of its rounds."""
    walls = results.steps(way, "seconds")
    cpu, read, lake = (statistics.median(results.steps(way, measure)) for measure in ("cpu", "read", "lake"))
    lines = [each for each in results.steps(way, "lines") if each is not None]
    return (
        f"`{way}`",
        str(len(walls)),
        f"{statistics.median(walls):.1f}",
        f"{min(walls):.1f} to {max(walls):.1f}",
        f"{cpu:.1f}",
        thousands(statistics.median(lines) if lines else None),
        thousands(read),
        bytes_of(sent),
        bytes_of(lake),
    )
