"""What the README tells people to type or copy works: it is read here, and held against the product."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from bench.figures import Results
from bench.names import DLT, ENGINE, OURS
from bench.report import document, with_count
from bench.targets import TARGETS
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.cli.main import commands
from incremental_assets.core.config.json_schema import schema
from incremental_assets.core.config.load import load
from incremental_assets.core.model.table import Strategy
from tests.conformance.played import NOT_HERE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
COPIES = (ROOT / "docs" / "reference" / "copies.md").read_text(encoding="utf-8")
CHECKPOINTS = (ROOT / "docs" / "reference" / "checkpoints.md").read_text(encoding="utf-8")
BENCHMARKS = ROOT / "docs" / "benchmarks.json"
RESTORED = "T21"
"""The scenarios of a source that was restored from a backup."""
KEYS, *OTHER_KEYS = re.findall(
    r"```yaml\n(.*?)```", (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8"), re.DOTALL
)

(OF_TOPICS,) = (block for block in OTHER_KEYS if "dialect: kafka" in block)
(OF_FILES,) = (block for block in OTHER_KEYS if "dialect: files" in block)
(OF_STORES,) = (block for block in OTHER_KEYS if "stores:" in block)
(OF_SSH,) = (block for block in OTHER_KEYS if "ssh:" in block)


def blocks(language: str, *pages: str) -> list[str]:
    """The blocks of code in this language, page by page."""
    return [block for page in pages for block in re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)]


def test_every_command_of_the_product_is_on_its_page_and_none_that_it_lacks() -> None:
    table = COMMANDS.split("\n# Commands\n")[-1].split("\n## ")[0]
    listed = {words.split()[0] for words in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)}
    assert listed == {name for name, command in commands.commands.items() if not command.hidden}


def test_the_configuration_to_copy_is_without_a_mistake(tmp_path: Path) -> None:
    (text,) = blocks("yaml", README)
    (tmp_path / "shop.yaml").write_text(text)
    orders, events = load(tmp_path / "shop.yaml").source("shop").tables
    assert (orders.strategy, events.strategy) == (Strategy.UPSERT, Strategy.APPEND)


def test_the_page_of_every_key_is_a_configuration_without_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(KEYS)
    tables = load(tmp_path / "sources.yaml").source("shop").tables
    assert [table.name for table in tables] == [
        "orders",
        "events",
        "customers",
        "readings",
        "countries",
        "invoices",
        "accounts",
        "prices",
        "baskets",
    ]


def test_no_key_is_missing_from_the_page_of_every_key() -> None:
    told = set(re.findall(r"(\w+):", KEYS + OF_TOPICS + OF_FILES + OF_STORES + OF_SSH)) | {"deletes", "mode", "master"}
    assert set(keys(schema())) <= told


def keys(schema: Any) -> Iterator[str]:
    """Names of properties, wherever they stand in a JSON Schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {}) if isinstance(schema.get("properties"), dict) else ()
        for below in schema.values():
            yield from keys(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from keys(below)


@pytest.fixture
def synced(tmp_path: Path) -> Path:
    """A folder with the lake that the first selects read."""
    rows = pa.table({"id": [1, 2], "updated_at": [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]})
    write_deltalake(str(tmp_path / "lake" / "shop" / "public" / "orders"), rows)
    return tmp_path


def test_the_first_select_of_the_readme_finds_the_rows(synced: Path) -> None:
    (block,) = blocks("python", README)
    told = subprocess.run([sys.executable, "-c", block], cwd=synced, capture_output=True, text=True, check=True).stdout
    assert shows_the_rows(told), told


def test_the_first_select_by_spark_finds_the_rows(
    spark: SparkSession, synced: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = blocks("python", COPIES)
    # Whatever is relative is so to the folder in which the JVM was started, and this one has been.
    exec(block.replace('"lake/', f'"{synced}/lake/'), {})
    told = capsys.readouterr().out
    assert shows_the_rows(told), told


def shows_the_rows(told: str) -> bool:
    return re.search(r"[│| ]2\s*[│|]\s*2026-01-02 00:00:00", told) is not None


def test_what_the_readme_says_of_the_soak_is_what_it_came_to() -> None:
    soak = json.loads((ROOT / "docs" / "soak.json").read_text(encoding="utf-8"))
    tables = soak["tables"].values()
    rows, lost, weak, doubled = (
        sum(table[name] for table in tables) for name in ("rows", "lost_settled", "lost_otherwise", "doubled")
    )
    put_back = sum(step < 0 for step in soak["clock_steps"])
    told = " ".join(README.split())
    assert (
        f"with {soak['kills']} kills and the source's clock put back {put_back} times, {lost} of {rows:,} rows were lost"
        in told
    )
    assert f"under `settled` and {doubled} were doubled; {weak:,} were lost by runs that had said `best_effort`" in told
    assert soak["faults"] == []
    assert soak["minutes"] >= 60


def test_what_the_readme_says_of_the_fault_report_is_what_was_played() -> None:
    rows = json.loads((ROOT / "docs" / "conformance.json").read_text(encoding="utf-8"))["rows"].values()
    held: dict[str, list[bool]] = {}
    for row in rows:
        outcomes = {case["outcome"] for case in row["cases"]}
        if outcomes == {NOT_HERE}:
            continue
        held.setdefault(row["database"], []).append(outcomes == {"holds"})
        # The limits in short name what does not hold: a source that was restored from a backup.
        assert outcomes == {"holds"} or (row["mark"]["number"] == RESTORED and outcomes == {"limit"})
    titles = (
        "PostgreSQL",
        "MariaDB",
        "MySQL",
        "SQLite",
        "PostgreSQL's log",
        "MariaDB's binlog",
        "MySQL's binlog",
        "topics of Kafka",
        "files",
        "a lake in S3",
        "a cluster",
    )
    postgresql, mariadb, mysql, sqlite, log, binlog, mysql_binlog, topics, files, store, cluster = (
        f"{sum(held[title])} of {len(held[title])}" for title in titles
    )
    said = " ".join(README.split())
    assert (
        f"{postgresql} scenarios hold on PostgreSQL, {mariadb} on MariaDB, {mysql} on MySQL, {sqlite} on SQLite, {log} on PostgreSQL's log, {binlog} on MariaDB's binlog, {mysql_binlog} on MySQL's binlog, {topics} on topics of Kafka, {files} on files, {store} on a lake in S3 and {cluster} on a cluster; the two that do not are the restored backups"
        in said
    )
    assert sum(len(each) - sum(each) for each in held.values()) == 2
    assert "* A source that was restored from a backup" in README


def test_what_the_readme_says_of_speed_is_what_was_measured() -> None:
    results = Results.read(BENCHMARKS)
    verdicts = [target.verdict(results)[1] for target in TARGETS]
    section = README.split("## How fast")[1].split("\n## ")[0]
    said = " ".join(section.split())

    def times(workload: str, above: str, below: str) -> float:
        over, under = results.median(workload, above, "wall"), results.median(workload, below, "wall")
        assert over
        assert under
        return over / under

    def seconds(name: str) -> str:
        return f"{results.median('I1', name, 'wall'):.1f} s"

    def written(name: str) -> str:
        return f"{(results.median('I1', name, 'lake') or 0) / 2**20:.2g} MiB"

    assert section.count("\n* ") <= 5, "the page of the benchmarks has the rest"
    assert f"{verdicts.count('met')} of {len(TARGETS)} targets are met" in said
    assert with_count(README, results) == README
    assert (
        f"With an engine a small sync of one table takes {seconds(ENGINE)}, {times('I1', DLT, ENGINE):.1f} times as fast as dlt; "
        f"fifty small tables {times('I4', DLT, ENGINE):.1f} times." in said
    )
    assert (
        f"one table takes {seconds(OURS)}, {beside_dlt(times('I1', OURS, DLT))}; eight tables {times('I3', OURS, DLT):.1f} times as long"
        in said
    )
    assert (
        f"A first load of six million rows takes {results.median('F1', OURS, 'wall'):.0f} s, {times('F1', DLT, OURS):.1f} times as fast as with dlt"
        in said
    )
    assert f"10,000 changed rows of 1.5 million write {written(OURS)}, where dlt writes {written(DLT)}" in said


def beside_dlt(ratio: float) -> str:
    """A ratio of medians in words; within a tenth they are about the same, as they are of three rounds."""
    return "about the same as dlt" if 0.9 <= ratio <= 1.1 else f"{ratio:.1f} times as long as with dlt"


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.03, "about the same as dlt"),
        (0.9, "about the same as dlt"),
        (1.16, "1.2 times as long as with dlt"),
        (0.57, "0.6 times as long as with dlt"),
    ],
)
def test_a_time_that_is_within_a_tenth_of_dlts_is_about_the_same(ratio: float, words: str) -> None:
    assert beside_dlt(ratio) == words


def test_the_page_of_the_benchmarks_is_made_of_their_results() -> None:
    page = document(Results.read(BENCHMARKS), Path("images/benchmarks.svg"))
    assert BENCHMARKS.with_suffix(".md").read_text(encoding="utf-8") == page


@pytest.mark.parametrize("query", blocks("sql", CHECKPOINTS), ids=["watermarks", "tables", "schema changes"])
def test_a_query_of_its_page_runs_on_the_checkpoint_table(query: str, tmp_path: Path) -> None:
    checkpoints = SqlCheckpoints(f"sqlite:///{tmp_path / 'checkpoints.db'}")
    checkpoints.remember_catalogue("shop", ())
    checkpoints.close()
    with sqlite3.connect(tmp_path / "checkpoints.db") as connection:
        assert connection.execute(query).fetchall() == []


def test_every_make_target_that_it_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", README)) - {"demo"} <= targets
