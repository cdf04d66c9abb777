"""Whoever reads the output of a command has gone: it ends quietly, with the status that is documented."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = """
import sys, click
from incremental_assets.cli.answer import Answer, Note
from incremental_assets.cli.entrypoint import run

@click.group()
def commands(): pass

@commands.command()
def notes():
    print("a line of a JVM")
    return Answer({"tables": []}, (Note("all is well"),))

@commands.command()
def progress():
    sys.stderr.write("syncing\\n")
    sys.stderr.flush()
    return Answer({"tables": []}, (Note("all is well"),))

@commands.command()
def failing():
    raise click.UsageError("there is no such table")

sys.exit(run(commands, sys.argv[1:]))
"""


@pytest.mark.parametrize("both", [True, False], ids=["2>&1", "stdout alone"])
@pytest.mark.parametrize("command", ["notes", "progress", "failing"])
def test_a_command_whose_reader_has_gone_ends_quietly(command: str, both: bool, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    error = writer if both else subprocess.PIPE
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, command],
        stdout=writer,
        stderr=error,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
        check=False,
    )
    os.close(writer)
    # A usage error says nothing on stdout.
    assert done.returncode == (2 if command == "failing" and not both else 1)
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in (done.stderr or "")
    assert "BrokenPipe" not in (done.stderr or "")
