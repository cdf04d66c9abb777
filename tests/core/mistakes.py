"""What the tests of mistakes in sources.yaml share: a small file, and the mistakes that are found in it.

In the snippets `#!` marks the line on which the mistake must be reported.
"""

import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

from incremental_assets.core.config import load as config
from incremental_assets.core.errors import ConfigurationError, Problem

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)

FILE = "lake: ./lake\ncheckpoints: sqlite:///c.db\nsources:\n  shop:\n"
SOURCE = "    dialect: postgresql\n    host: localhost\n    database: shop\n    user: reader\n"


def problems(folder: Path, text: str) -> tuple[Problem, ...]:
    file = folder / "sources.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        config.load(file, now=NOW)
    return caught.value.problems


def in_source(snippet: str) -> str:
    return FILE + SOURCE + textwrap.indent(textwrap.dedent(snippet).strip("\n"), "    ")


def in_table(snippet: str) -> str:
    lines = textwrap.dedent(snippet).strip("\n").splitlines()
    return (
        FILE
        + SOURCE
        + "    tables:\n"
        + "\n".join(("      - " if not number else "        ") + line for number, line in enumerate(lines))
    )


def only_problem(folder: Path, text: str) -> Problem:
    """The one problem of the text; it must be reported on the line that is marked."""
    found = problems(folder, text)
    assert len(found) == 1, [str(problem) for problem in found]
    marked = [number for number, line in enumerate(text.splitlines(), start=1) if "#!" in line]
    assert [found[0].line] == marked
    assert found[0].file == str(folder / "sources.yaml")
    return found[0]
