"""Every place of the program that opens a session to a source, by its syntax: a new one has to say by whose place in the budget it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]


def _calls(file: Path) -> Iterator[str]:
    class Finder(ast.NodeVisitor):
        def __init__(self) -> None:
            self.inside: list[str] = []
            self.found: list[str] = []

        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            self.inside.append(node.name)
            self.generic_visit(node)
            self.inside.pop()

        def visit_Call(self, node: ast.Call) -> None:
            name = ast.unparse(node.func)
            if name in NAMES or name.endswith(ENDS):
                self.found.append(f"{self.inside[-1] if self.inside else ''}: {name}")
            self.generic_visit(node)

    finder = Finder()
    finder.visit(ast.parse(file.read_text()))
    yield from finder.found


NAMES = ("Connection", "pymysql.connections.Connection", "open_file", "psycopg.connect", "sqlite3.connect")
ENDS = (
    "Patient.connect",
    "_connections.session",
    "dialect.connect",
    "_driver.connect",
    "_pool.connect",
    ".read.jdbc",
    "._jdbc",
)

FOUND = {
    # Their session is opened by `probe.py` alone, by who has a place.
    "mysql/connect.py": ["__init__: pymysql.connections.Connection", "_connect: self._driver.connect"],
    "mysql/session.py": ["session: Connection"],
    "postgresql/session.py": ["__init__: Patient.connect", "session: self._pool.connect"],
    "sqlite/session.py": ["open_file: sqlite3.connect", "session: open_file"],
    "probe.py": ["_opened: self._connections.session"],
    # By the place of a reader: `Tasks` has it for parts, `frame` for Spark's own reader, `one_reader` for the rows of a comparison.
    "postgresql/rows/copy_part.py": ["_opened: Patient.connect"],
    "postgresql/rows/reader.py": [
        "frame: self._jdbc",
        "row_hashes: self._jdbc",
        "row_texts: self._jdbc",
        "unholdable_keys: self._jdbc",
    ],
    "jdbc.py": ["read: session.read.jdbc", "read: session.read.jdbc"],
    "mysql/reader.py": ["_asking: Connection"],
    "sqlite/reader.py": ["_asking: open_file"],
    # No source: the schema of one in memory.
    "sqlite/damaged_schema.py": ["_why: sqlite3.connect"],
    "sqlite/collation.py": ["column_collations: sqlite3.connect"],
}


def test_no_session_to_a_source_is_opened_but_in_these_places() -> None:
    folder = ROOT / "incremental_assets" / "adapters" / "databases"
    found = {
        str(file.relative_to(folder)): sorted(calls) for file in folder.rglob("*.py") if (calls := list(_calls(file)))
    }
    assert found == {file: sorted(calls) for file, calls in FOUND.items()}


def test_nobody_else_opens_one() -> None:
    package = ROOT / "incremental_assets"
    others = [
        file
        for place in ("core", "cli", "defs", "adapters/delta", "adapters/spark", "adapters/checkpoints")
        for file in (package / place).rglob("*.py")
    ]
    found = [f"{file.name}: {call}" for file in [*others, *(ROOT / "resources").rglob("*.py")] for call in _calls(file)]
    assert [each for each in found if "jdbc" in each or "psycopg" in each or "pymysql" in each] == []
