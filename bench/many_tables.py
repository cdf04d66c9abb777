"""Ten thousand tables, without a server: `python -m bench.many_tables`. What definitions, looks and the command line cost as the number of tables grows.

The source is a SQLite file of that many tables. One of them is synced, without Spark; the others are given its position and its log under their own names. Each
step is a process of its own, played once for each number of tables; what is told is the time of a processor.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.playing import commit, say
from bench.thousand import Stand, Took
from bench.thousand_source import name_of, remember
from incremental_assets.core.model.definition import Fact, remembered

RESULT = Path(__file__).parents[1] / "docs" / "benchmarks-tables.json"
TABLES = (1_000, 10_000)
FIRST = name_of(0)


def main() -> None:
    """Prepare, measure, print, write."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--tables", type=int, nargs="+", default=TABLES)
    asked.add_argument("--result", type=Path, default=RESULT)
    options = asked.parse_args()
    found = {"commit": commit(), "at": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "sources": []}
    for tables in options.tables:
        with tempfile.TemporaryDirectory(prefix="tables-") as folder:
            found["sources"].append(_measured(Path(folder), tables))
        options.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(options.result)


def _measured(folder: Path, tables: int) -> dict[str, Any]:
    say(f"{tables:,} tables")
    stand = Stand(folder, None)
    os.environ |= stand.environment
    _prepare(folder, tables)
    seconds: dict[str, float] = {}
    counts: dict[str, int] = {}

    def note(name: str, took: Took) -> None:
        seconds[name] = round(took.cpu, 2)
        say(f"  {name}: {took.cpu:.1f} s of a processor, {took.wall:.1f} s")

    took, said = stand.process("load")
    note("definitions load", took)
    counts |= said
    took, said = stand.process("snapshot")
    note("definitions load and snapshot", took)
    counts["bytes of the snapshot"] = said["bytes"]
    took, said = stand.process("tick")
    note("first look of a process beside a new home", Took(*said["first"]))
    note("look", Took(*said["later"]))
    counts["bytes of the sensor's cursor"] = said["cursor_bytes"]
    took, said = stand.command("sync")
    note("sync, nothing moved", took)
    if any(table["status"] != "idle" for table in said["tables"]) or len(said["tables"]) != tables:
        sys.exit("the tables were to be idle")
    note("status", stand.command("status")[0])
    took, text = stand.timed(str(Path(sys.executable).with_name("incremental-assets")), "metrics")
    note("metrics, a process and a scrape", took)
    counts["bytes of a scrape"] = len(text.encode())
    counts["bytes of the checkpoint database"] = (folder / "checkpoints.db").stat().st_size
    return {"tables": tables, "processor_seconds": seconds, "counts": counts}


def _prepare(folder: Path, tables: int) -> None:
    """As after a sync of each table in which nothing has moved."""
    names = [name_of(number) for number in range(tables)]
    with sqlite3.connect(folder / "source.db") as source:
        for name in names:
            source.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, note TEXT, updated_at TEXT NOT NULL)")
            source.execute(
                f"INSERT INTO {name} VALUES (1, 'note', '2024-05-01 10:00:00'), (2, 'note', '2024-06-01 10:00:00')"
            )
            source.execute(f"CREATE INDEX {name}_by_time ON {name} (updated_at)")
    remember(_configured(folder, names[:1]))
    _configured(folder, names)
    lake = folder / "lake" / "shop" / "main"
    for name in names[1:]:
        shutil.copytree(lake / FIRST, lake / name)
        for each in (lake / name / "_delta_log").iterdir():
            each.write_text(each.read_text(encoding="utf-8").replace(FIRST, name), encoding="utf-8")
    roots = _roots(folder / "source.db")
    with sqlite3.connect(folder / "checkpoints.db") as checkpoints:
        for table in ("checkpoints", "heartbeats"):
            _multiply(checkpoints, table, {name: roots[name] for name in names})


def _configured(folder: Path, names: list[str]) -> Path:
    lines = [
        "lake: ./lake",
        "checkpoints: sqlite:///checkpoints.db",
        "sources:",
        "  shop:",
        "    dialect: sqlite",
        "    database: source.db",
        "    partitions: {every: month, from: 2024-01-01}",
        "    defaults: {freshness: {warn: 30m, fail: 2h}}",
        "    unlisted: ignore",
        "    tables:",
        *(f'      - "main.{name}:updated_at:datetime!upsert"' for name in names),
    ]
    file = folder / "sources.yaml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _roots(file: Path) -> dict[str, str]:
    """Where each table lies in the file, as a position keeps it: that alone tells one of them from another."""
    with sqlite3.connect(file) as source:
        found = source.execute("SELECT name, rootpage, rowid FROM sqlite_schema WHERE type = 'table'").fetchall()
    facts = {name: [Fact("root", (str(root), str(row)), "")] for name, root, row in found}
    return {name: dict(remembered(None, fact))["root"] for name, fact in facts.items()}


def _multiply(database: sqlite3.Connection, table: str, roots: dict[str, str]) -> None:
    """Its rows, of which all are the first table's, again for each of the others."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[1] != "event_id"]
    rows = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    places = ", ".join("?" for _ in columns)
    for name, root in roots.items():
        for row in rows if name != FIRST else ():
            told = [
                each.replace(FIRST, name).replace(roots[FIRST], root) if isinstance(each, str) else each for each in row
            ]
            database.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", told)


if __name__ == "__main__":
    main()
