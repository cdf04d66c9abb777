"""The pandera schema of a contract: from the user's own module, or built from rules. Every mistake in it is one of the configuration."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pandera.pandas as pandera
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.core.errors import ConfigurationError, Problem
from incremental_assets.core.model.contract import ColumnRules, Contract, rule


@lru_cache(maxsize=256)
def schema_of(contract: Contract) -> pandera.DataFrameSchema:
    """The schema. Raises ConfigurationError, which names the file and the line where the mistake is."""
    schema = _imported(contract) if contract.model else _built(contract)
    for why in _refused(schema):
        raise mistake(contract, why)
    return schema


def module_of(contract: Contract) -> ModuleType | None:
    """The package that the model comes from, once it is imported; None for rules."""
    return sys.modules.get(contract.model.partition(":")[0].partition(".")[0]) if contract.model else None


def mistake(contract: Contract, cure: str) -> ConfigurationError:
    """What is wrong with a contract, at its place in the configuration."""
    return ConfigurationError((Problem(contract.file, contract.line, contract.model or "contract", cure),))


def _built(contract: Contract) -> pandera.DataFrameSchema:
    return pandera.DataFrameSchema({each.column: _column(each) for each in contract.rules})


_CHECKS: dict[str, Callable[..., pandera.Check]] = {
    "matches": lambda pattern, **terms: pandera.Check.str_matches(_from_the_beginning(pattern), **terms),
    "ge": pandera.Check.ge,
    "gt": pandera.Check.gt,
    "le": pandera.Check.le,
    "lt": pandera.Check.lt,
    "isin": lambda values, **terms: pandera.Check.isin(list(values), **terms),
    "notin": lambda values, **terms: pandera.Check.notin(list(values), **terms),
    "min_length": lambda length, **terms: pandera.Check.str_length(length, None, **terms),
    "max_length": lambda length, **terms: pandera.Check.str_length(None, length, **terms),
}


def _from_the_beginning(pattern: str) -> str:
    """The pattern with every branch anchored: pandas puts brackets around it to do so, but not where it begins with `^`, as `^a|b` does."""
    return f"^(?:{pattern})" if pattern.startswith("^") else pattern


def _column(rules: ColumnRules) -> pandera.Column:
    """The column with its checks. Each is named as it stands in the configuration, which is what is said of a row that breaks it."""
    checks = [_CHECKS[name](value, error=rule(name, value)) for name, value in rules.given.items() if name in _CHECKS]
    return pandera.Column(None, checks, nullable=rules.nullable, unique=rules.unique)


# --- the user's own module --------------------------------------------------------------------------


def _imported(contract: Contract) -> pandera.DataFrameSchema:
    name, _, wanted = contract.model.partition(":")
    module = _module(contract, name)
    model = getattr(module, wanted, None)
    if model is None:
        near = difflib.get_close_matches(wanted, vars(module), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise mistake(contract, f"{_file(module)} has no {wanted!r}{hint}")
    if isinstance(model, pandera.DataFrameSchema):
        return model
    if not (inspect.isclass(model) and issubclass(model, pandera.DataFrameModel)):
        raise mistake(
            contract,
            f"{_place(module, model)} is no pandera.pandas.DataFrameModel; only such a model names each row that breaks it: derive it from that "
            "(of pandera.pyspark and pandera.polars, fields with pandera's own checks stay as they are)",
        )
    try:
        return model.to_schema()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever is wrong with the user's class
        raise mistake(contract, f"{_place(module, model)}: {type(error).__name__}: {_first_line(error)}") from None


def _module(contract: Contract, name: str) -> ModuleType:
    # Not from the current folder, whose files may be anybody's. At the end: nothing in a project's folder may hide a library.
    folder = str(Path(contract.file).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise mistake(contract, f"{_raised_at(error)}: {error.msg}; install it, or fix the import") from None
        raise mistake(
            contract,
            f"there is no module {error.name!r} in {folder}, nor among the installed ones: move it there, or install it",
        ) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises, `sys.exit` too: the other tables go on
        raise mistake(contract, f"{_raised_at(error)}: {type(error).__name__}: {_first_line(error)}") from None


def _raised_at(error: BaseException) -> str:
    """File and line of the user's code, as text: what Python could not read, or the last line that ran outside of libraries; `the module` where there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if not each.filename.startswith("<") and "site-packages" not in each.filename and each.filename != __file__
    ]
    own = [each for each in frames if Path(importlib.__file__ or "").parent not in Path(each.filename).parents]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "the module"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error.msg if isinstance(error, SyntaxError) else error).splitlines()), "")


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__


def _place(module: ModuleType, model: Any) -> str:
    try:
        return f"{_file(module)}:{inspect.getsourcelines(model)[1]}"
    except (OSError, TypeError):
        return _file(module)


# --- what only looks at rows --------------------------------------------------------------------------


def _refused(schema: pandera.DataFrameSchema) -> Iterator[str]:
    """What a contract cannot be: it judges rows as they are, each for itself, and changes none."""
    parsers = [*schema.parsers, *(each for column in schema.columns.values() for each in column.parsers)]
    changes = {
        "a parser": bool(parsers),
        "`strict: filter`": schema.strict == "filter",
        "`add_missing_columns`": schema.add_missing_columns,
        "`drop_invalid_rows`": schema.drop_invalid_rows,
        "a default": any(column.default is not None for column in schema.columns.values()),
    }
    for name, is_there in changes.items():
        if is_there:
            yield f"a contract judges rows and changes none, and {name} changes them; remove it from the model"
    unknown = {
        "an index": schema.index is not None,
        "`ordered`": schema.ordered,
        "a column by a pattern (`regex`)": any(column.regex for column in schema.columns.values()),
    }
    for name, is_there in unknown.items():
        if is_there:
            yield f"{name} says nothing of a row; remove it from the model"
    yield from _refused_checks(schema)


def _refused_checks(schema: pandera.DataFrameSchema) -> Iterator[str]:
    for check in (*schema.checks, *(each for column in schema.columns.values() for each in column.checks)):
        if isinstance(check, pandera.Hypothesis) or check.groupby is not None:
            yield f"the check {check.name!r} judges groups of rows, and names none that breaks it; remove it from the model"
        if check.raise_warning:
            yield f"the check {check.name!r} only warns, which a contract does as a whole: write `on_breach: warn`, or remove `raise_warning`"
        pattern = check.statistics.get("pattern")
        if pattern is not None and (why := _unmatchable(pattern)):
            yield f"the pattern {pattern!r} is no regular expression that Arrow's RE2 takes ({why}); it has no look-around and no back-references"


def _unmatchable(pattern: Any) -> str:
    try:
        pc.match_substring_regex(pa.array([""]), getattr(pattern, "pattern", pattern))
    except pa.ArrowInvalid as error:
        return str(error)
    return ""
