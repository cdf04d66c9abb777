"""`--help` answers at once, and a command loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from incremental_assets.cli.entrypoint import run
from incremental_assets.cli.main import commands
from incremental_assets.core.config.dialects import BUILT_IN

HEAVY = ("dagster", "pyspark", "sqlalchemy", "psycopg", "pydantic", "yaml", "rich", "pyarrow")
COMMANDS = sorted(commands.commands)


def test_the_commands_are_those_of_the_readme() -> None:
    assert COMMANDS == [
        "alerts",
        "audit",
        "backfill",
        "capture",
        "check",
        "completion",
        "coverage",
        "dashboards",
        "demo",
        "dev",
        "diff",
        "discover",
        "docs",
        "doctor",
        "engine",
        "erase",
        "init",
        "metrics",
        "pause",
        "peek",
        "plan",
        "prune",
        "repair",
        "replay",
        "reset",
        "resume",
        "rollback",
        "schema",
        "setup",
        "status",
        "sync",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_is_explained(name: str) -> None:
    command = commands.commands[name]
    options = [option for option in command.params if isinstance(option, click.Option)]

    assert command.help
    assert len(command.get_short_help_str(limit=66)) < 66, "the list of commands would cut it"
    assert {"config", "as_json"} <= {option.name for option in options}
    assert [option.name for option in options if not option.help] == []


def test_init_names_every_database_that_it_takes() -> None:
    said = commands.commands["init"].help or ""
    assert [name for name in BUILT_IN if name not in said] == []


def test_without_arguments_the_help_is_printed_as_by_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(commands, ["--help"]) == 0
    asked = capsys.readouterr()
    assert run(commands, []) == 0
    assert capsys.readouterr() == asked
    assert asked.out.startswith("Usage: incremental-assets [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize("arguments", [["--help"], ["sync", "--help"], [], ["backfill"], ["--version"]])
def test_nothing_heavy_is_imported_to_answer(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom incremental_assets.cli.entrypoint import run\nfrom incremental_assets.cli.main import commands\n"
        f"run(commands, {arguments!r})\nprint([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stderr.splitlines()[-1] == "[]"


IMPORTS = """
import importlib, sys
for module in {modules!r}:
    importlib.import_module(module)
    print(module, [name for name in ("dagster", "pyspark", "delta", "pandas", "pandera") if name in sys.modules])
"""


def test_a_command_that_moves_no_rows_needs_no_dagster_and_no_spark() -> None:
    """One process for all of them: what none has imported together, none imports alone."""
    names = [
        f"incremental_assets.cli.commands.{name}"
        for name in ("status", "metrics", "alerts", "reset", "doctor", "sync", "plan")
    ]
    adapters = ["databases.probe", "checkpoints.store", "delta.lake", "databases.spark_source", "delta.staging.stage"]
    modules = [
        *names,
        "incremental_assets.resources.runtime",
        *(f"incremental_assets.adapters.{name}" for name in adapters),
    ]
    program = IMPORTS.format(modules=modules)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines() == [f"{module} []" for module in modules]
