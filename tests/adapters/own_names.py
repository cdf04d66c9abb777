"""What the adapters call their frames and columns, read from its code."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType

from incremental_assets.adapters.spark import own_names as own
from incremental_assets.core.model.schema_drift import OWN_PREFIX

ADAPTERS = Path(inspect.getfile(own)).parents[1]
_NAMES = {"alias", "withColumn", "withColumnRenamed", "col", "drop", "groupBy"}
"""Methods that give a name to a frame or a column, or look one up; beside our own function `column`."""
_SQL_ALIAS = re.compile(r"\bAS ([a-z]\w*)\b(?!\s*\()")
_TYPES = {"text", "bigint", "numeric", "string", "decimal", "timestamp", "timestamptz", "date", "bit", "integer", "double"}  # fmt: skip


def constants(module: ModuleType = own) -> set[str]:
    """The names that `adapters/spark/own_names.py` defines."""
    return {value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}


def words() -> set[str]:
    """The word of every name that is made by `own()`, its variable parts as 0."""
    found = {name.removeprefix(OWN_PREFIX) for name in constants() if name != OWN_PREFIX}
    for _, call in _calls():
        if isinstance(call.func, ast.Name) and call.func.id in ("own", "key_part") and call.args:
            found |= {text for node in call.args for text in _texts(node)}
    return found


def sql_aliases() -> set[str]:
    """What our statements call their tables and columns."""
    return {word for path in sources() for word in _SQL_ALIAS.findall(path.read_text())} - _TYPES


def bare_names() -> list[str]:
    """Where a frame or a column is named by a text that does not come from `adapters/spark/own_names.py`: file, line, text."""
    return [
        f"{path.name}:{call.lineno}: {text!r}"
        for path, call in _calls()
        for argument in call.args
        for text in _texts(argument)
        if _called(call) in _NAMES or getattr(call.func, "id", "") == "column"
    ]


def sources() -> list[Path]:
    """Every module of the adapters that could name a column of a source."""
    return sorted(path for path in ADAPTERS.rglob("*.py") if path.parent.name != "checkpoints")


@cache
def _calls() -> tuple[tuple[Path, ast.Call], ...]:
    trees = ((path, ast.parse(path.read_text())) for path in sources())
    return tuple((path, node) for path, tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _texts(node: ast.expr) -> list[str]:
    """A literal text, an f-string with 0 for what varies; none for a name or a call."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)]
    return []
