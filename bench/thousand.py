"""A thousand tables: `make thousand`. What definitions, ticks and the command line cost when a source has many and nothing moves.

Makes a PostgreSQL with real tables in a folder of its own, remembers each as synced, and measures fresh processes, a few rounds,
interleaved; what is told is the median. `--browser` opens the asset graph of them all in headless Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.thousand_source import DATABASE, PASSWORD, configure, make_tables, remember
from incremental_assets.demo.postgres import EmbeddedPostgres

RESULT = Path(__file__).parents[1] / "docs" / "benchmarks-thousand.json"
LOGGING = {
    "fsync": "off",
    "logging_collector": "on",
    "log_rotation_age": "0",
    "log_rotation_size": "0",
    "log_connections": "on",
    "log_line_prefix": "%m %u@%d ",
}
TARGETS = {"definitions load": 5.0, "tick": 2.0}


@dataclass(frozen=True)
class Took:
    """Seconds on the wall, and of a processor: on a busy machine only the second says what the program costs."""

    wall: float
    cpu: float


Figures = dict[str, list[Took]]


@dataclass(frozen=True)
class Stand:
    """One prepared source, and the environment of the processes that are measured."""

    folder: Path
    server: EmbeddedPostgres | None

    @property
    def environment(self) -> dict[str, str]:
        """Everything in the stand's folder."""
        home = self.folder / "dagster"
        home.mkdir(exist_ok=True)
        (home / "dagster.yaml").write_text("telemetry: {enabled: false}\nnux: {enabled: false}\n")
        return {
            **os.environ,
            "INCREMENTAL_ASSETS_CONFIG": str(self.folder / "sources.yaml"),
            "THOUSAND_PASSWORD": PASSWORD,
            "DAGSTER_HOME": str(home),
        }

    def timed(self, *command: str) -> tuple[Took, str]:
        """How long a whole process took, and what it said."""
        begun, before = time.perf_counter(), _cpu_of_children()
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        took = Took(time.perf_counter() - begun, _cpu_of_children() - before)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr[-2000:] or done.stdout[-2000:]}")
        return took, done.stdout

    def process(self, what: str) -> tuple[Took, dict[str, Any]]:
        """One of `bench.thousand_process`."""
        took, said = self.timed(sys.executable, "-m", "bench.thousand_process", what)
        return took, json.loads(said)

    def command(self, *words: str) -> tuple[Took, dict[str, Any]]:
        """One call of the command line."""
        took, said = self.timed(str(Path(sys.executable).with_name("incremental-assets")), *words, "--json")
        return took, json.loads(said)


def main() -> None:
    """Prepare, measure, print, write."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--tables", type=int, default=1000)
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--browser", action="store_true", help="open the asset graph in headless Chromium too")
    asked.add_argument("--result", type=Path, default=RESULT)
    options = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="thousand-") as name:
        server = EmbeddedPostgres(Path(name) / "server", settings=LOGGING)
        server.start()
        try:
            result = _measured(Stand(Path(name), server), options)
        finally:
            server.remove()
    options.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"\n{options.result}")


def _measured(stand: Stand, options: argparse.Namespace) -> dict[str, Any]:
    begun = time.perf_counter()
    make_tables(stand.server, options.tables)
    os.environ |= stand.environment
    remembered = remember(configure(stand.folder, stand.server, options.tables))
    print(f"{remembered} tables, each with a position, prepared in {time.perf_counter() - begun:.0f} s")
    load_before = os.getloadavg()[0]
    figures, facts = _rounds(stand, options.rounds, options.tables)
    facts |= _asked_of_the_source(stand)
    if options.browser:
        from bench.thousand_browser import seconds_to_lineage

        first, later = seconds_to_lineage(stand.environment)
        figures |= {"lineage page, first visit": [Took(first, 0)], "lineage page, again": [Took(later, 0)]}
    medians = {name: _median(took) for name, took in figures.items()}
    for name, took in medians.items():
        print(f"  {name:38} {took.wall:7.2f} s   {took.cpu:7.2f} s of a processor   {_verdict(name, took)}")
    for name, count in facts.items():
        print(f"  {name:38} {count:7,}")
    return {
        "tables": options.tables,
        "rounds": options.rounds,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "load_average": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "seconds": {name: round(took.wall, 2) for name, took in medians.items()},
        "processor_seconds": {name: round(took.cpu, 2) for name, took in medians.items() if took.cpu},
        "all_seconds": {name: [round(each.wall, 2) for each in all_] for name, all_ in figures.items()},
        "counts": facts,
    }


def _rounds(stand: Stand, rounds: int, tables: int) -> tuple[Figures, dict[str, int]]:
    """Interleaved, so that a machine that slows down slows all of them."""
    figures: Figures = {}
    facts: dict[str, int] = {}

    def note(name: str, took: Took) -> None:
        figures.setdefault(name, []).append(took)

    for number in range(rounds):
        took, said = stand.process("load")
        note("definitions load", took)
        facts |= said
        note("definitions load and snapshot", stand.process("snapshot")[0])
        _, said = stand.process("tick")
        note("tick", Took(*said["later"]))
        note("first tick of a process", Took(*said["first"]))
        facts["bytes of the sensor's cursor"] = said["cursor_bytes"]
        took, said = stand.command("sync")
        note("sync, nothing moved", took)
        moved = [table["table"] for table in said["tables"] if table["status"] != "idle"]
        if moved or len(said["tables"]) != tables:
            sys.exit(f"the tables were to be idle: {moved[:5]} of {len(said['tables'])}")
        note("status", stand.command("status")[0])
        print(f"  round {number + 1}: " + ", ".join(f"{name} {all_[-1].wall:.2f}" for name, all_ in figures.items()))
    return figures, facts


def _asked_of_the_source(stand: Stand) -> dict[str, int]:
    """Connections and statements of one process with three ticks, as the server's own log counts them."""
    return {
        f"{name}, {what}": count for name, call in _asked(stand).items() for what, count in _logged(stand, call).items()
    }


def _asked(stand: Stand) -> Mapping[str, Callable[[], object]]:
    return {"three ticks": lambda: stand.process("tick"), "sync": lambda: stand.command("sync")}


def _logged(stand: Stand, call: Callable[[], object]) -> dict[str, int]:
    log = _set(stand, "all")
    begin = log.stat().st_size
    call()
    _set(stand, "none")
    lines = log.read_bytes()[begin:].decode(errors="replace").splitlines()
    ours = [line for line in lines if f" reader@{DATABASE} " in line]
    return {
        "connections": sum("connection authorized" in line for line in ours),
        "statements": sum(re.search(r"LOG:  (statement|execute [^:]*):", line) is not None for line in ours),
    }


def _set(stand: Stand, level: str) -> Path:
    """What the server logs from now on, and where."""
    with psycopg.connect(stand.server.dsn(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET log_statement = '{level}'")
        connection.execute("SELECT pg_reload_conf()")
        while connection.execute("SHOW log_statement").fetchone() != (level,):
            time.sleep(0.05)
        found = connection.execute("SELECT current_setting('data_directory'), pg_current_logfile()").fetchone()
    return Path(*found or ())


def _median(all_: list[Took]) -> Took:
    return Took(statistics.median(each.wall for each in all_), statistics.median(each.cpu for each in all_))


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _verdict(name: str, took: Took) -> str:
    target = TARGETS.get(name)
    return "" if target is None else f"target {target:.0f} s: {'met' if took.wall < target else 'missed'}"


if __name__ == "__main__":
    main()
