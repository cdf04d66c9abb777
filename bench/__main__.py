"""The benchmark: `make bench`. Ours and the tools that people would pick instead, on the same rows, interleaved, each copy proven equal.

Makes a PostgreSQL and a MariaDB with TPC-H data and an environment for each contender under `.bench/`, plays the workloads, and writes
docs/benchmarks.json, of which docs/benchmarks.md, its picture and the README's count of targets are made. `--quick` is smaller and writes under `.bench/` alone.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import (
    backlog,
    blocked,
    comparing,
    databases,
    drift,
    dropped,
    freshness,
    large,
    million,
    overhead,
    store,
    stream,
    topic,
)
from bench.environments import Environments
from bench.figures import Result, Results
from bench.machine import machine, tools
from bench.measuring import Failed
from bench.playing import Play, Stand, make_warm_up, say
from bench.plot import draw
from bench.report import document, with_count
from bench.source import Source
from bench.workloads import FULL, QUICK, Sizes, Workloads
from incremental_assets.core.errors import IncrementalAssetsError

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FOLDER = ROOT / ".bench"
ENVIRONMENTS = Environments(FOLDER / "environments")
SERVER, QUICK_SERVER = FOLDER / "server", FOLDER / "server-quick"
MARIADB, QUICK_MARIADB = FOLDER / "mariadb", FOLDER / "mariadb-quick"
BY_THEMSELVES: Mapping[str, tuple[str, Callable[[int], Mapping[str, Any]], Callable[[Sizes], int]]] = {
    drift.NAME: ("drift", drift.play, lambda sizes: sizes.big_table),
    comparing.NAME: ("compare", comparing.play, lambda sizes: sizes.big_table),
    large.NAME: ("large", large.play, lambda sizes: sizes.large),
    freshness.NAME: ("freshness", freshness.play, lambda sizes: sizes.fresh),
    backlog.NAME: ("backlog", backlog.play, lambda sizes: sizes.backlog),
    blocked.NAME: ("blocked", blocked.play, lambda sizes: sizes.blocked),
    stream.NAME: ("stream", stream.play, lambda sizes: sizes.stream),
    topic.NAME: ("topic", topic.play, lambda sizes: sizes.backlog),
    overhead.NAME: ("overhead", overhead.play, lambda sizes: sizes.observed),
    dropped.NAME: ("files", lambda files: dropped.play(files, ENVIRONMENTS), lambda sizes: sizes.files),
    million.NAME: ("names", million.play, lambda sizes: sizes.names),
    store.NAME: ("store", store.play, lambda sizes: sizes.stored),
}
"""Workloads with a server of their own, or with none: the part of the results, what runs it, and the rows of its table, those that come into it, its megabytes, its seconds or its files."""
BY_NAME = (large.NAME, million.NAME)
"""Those that are played by name alone."""


def main() -> None:
    """Prepare, play, write."""
    options = _options()
    if options.forget:
        _forget()
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("benchmark: stopped"))
    environments = ENVIRONMENTS
    sizes = QUICK if options.quick else FULL
    file = FOLDER / "quick" / "benchmarks.json" if options.quick else ROOT / "docs" / "benchmarks.json"
    picture = file.with_name("benchmarks.svg") if options.quick else ROOT / "docs" / "images" / "benchmarks.svg"
    failures: list[str] = []
    if not options.write:
        _play(options, Workloads(sizes, environments, FOLDER), environments, file, failures)
    results = Results.read(file)
    file.parent.mkdir(parents=True, exist_ok=True)  # where the first one has failed
    file.with_suffix(".md").write_text(document(results, picture.relative_to(file.parent)), encoding="utf-8")
    if not options.quick:
        README.write_text(with_count(README.read_text(encoding="utf-8"), results), encoding="utf-8")
    try:
        draw(environments, file, picture)
    except Failed as error:
        say(f"no picture: {error}")
    say(f"{file.with_suffix('.md')}")
    if failures:
        sys.exit("\n".join(failures))


def _play(
    options: argparse.Namespace, workloads: Workloads, environments: Environments, file: Path, failures: list[str]
) -> None:
    begun, sizes = time.monotonic(), QUICK if options.quick else FULL
    made = workloads.all()
    known = [*made, *(name for name in BY_THEMSELVES if name not in BY_NAME), databases.NAME]
    chosen = options.only.split(",") if options.only else known
    unknown = [name for name in chosen if name not in (*known, *BY_NAME)]
    if unknown:
        sys.exit(f"there is no workload {', '.join(unknown)}: choose of {', '.join((*known, *BY_NAME))}")
    # What is played alone takes its place beside what was played before: ratios are within one workload.
    before = Results.read(file)
    results = before if options.only else before.anew()
    for name, (part, play, rows) in BY_THEMSELVES.items():
        if name in chosen:
            with _reported(name, failures):
                results = replace(results, quick=options.quick, **{part: play(rows(sizes))})
                results.write(file)
    chosen = [name for name in chosen if name not in BY_THEMSELVES]
    if not chosen:
        return
    source = Source(QUICK_SERVER if options.quick else SERVER)
    try:
        say("PostgreSQL, with TPC-H at scale " + str(sizes.scale))
        source.start(sizes.scale)
        make_warm_up(source)
        results = replace(results, machine=machine(source), tools=tools(environments), quick=options.quick)
        stand = Stand(FOLDER / "work", source, sizes.rounds)
        for name in chosen:
            if name != databases.NAME:
                results = _played(Play(made[name](), stand), results, file)
        if databases.NAME in chosen:
            with _reported(databases.NAME, failures):
                for result in _beside(stand, sizes, options):
                    results = results.with_workload(result)
                    results.write(file)
    finally:
        workloads.close()
        source.stop()
    minutes = (time.monotonic() - begun) / 60
    replace(results, minutes=results.minutes if options.only else round(minutes, 1)).write(file)
    say(f"{minutes:.1f} minutes")


@contextmanager
def _reported(name: str, failures: list[str]) -> Iterator[None]:
    """What fails is told, also at the end, and the others go on: the document keeps what it has of it."""
    try:
        yield
    except (Failed, IncrementalAssetsError) as error:
        failures.append(f"{name}: failed: {error}")
        say(failures[-1])


def _beside(stand: Stand, sizes: Sizes, options: argparse.Namespace) -> Iterator[Result]:
    """Another database, with the same rows."""
    mariadb = databases.MariaDB(QUICK_MARIADB if options.quick else MARIADB)
    say(f"MariaDB, with TPC-H at scale {sizes.scale}")
    try:
        mariadb.start(sizes.scale)
        for result in databases.play(stand.source, mariadb, stand.folder, stand.rounds, sizes.changes):
            say(f"{result.name}: {result.title} ({result.minutes:.1f} minutes)")
            yield result
    finally:
        mariadb.stop()


def _played(play: Play, results: Results, file: Path) -> Results:
    """Written as it grows: what was measured stays, whatever comes after."""
    try:
        for result in play.results():
            say(f"{result.name}: {result.title} ({result.minutes:.1f} minutes)")
            results = results.with_workload(result)
            results.write(file)
        for name, spans in play.profiles():
            results = replace(results, profiles={**results.profiles, name: spans})
            results.write(file)
    except Failed as error:
        say(f"no profile: {error}")
    finally:
        play.end()
    return results


def _forget() -> None:
    for folder in (SERVER, QUICK_SERVER):
        Source(folder).remove()
    for folder in (MARIADB, QUICK_MARIADB):
        databases.MariaDB(folder).remove()
    shutil.rmtree(FOLDER, ignore_errors=True)


def _options() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="make bench", description=__doc__.splitlines()[0])
    asked.add_argument("--quick", action="store_true", help="smaller tables, each round once, into .bench/quick")
    asked.add_argument("--only", metavar="F1,I1", help="some workloads; the others stay in the document as they were")
    asked.add_argument(
        "--write", action="store_true", help="measure nothing: make the document of the figures there are"
    )
    asked.add_argument("--forget", action="store_true", help="remove the databases and environments under .bench")
    return asked.parse_args()


if __name__ == "__main__":
    try:
        main()
    except IncrementalAssetsError as problem:
        sys.exit(str(problem))
