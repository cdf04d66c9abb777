"""Finds which rows break a contract, and which of its rules each of them breaks: a pure function of rows in Arrow, for any process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
from numpy.typing import NDArray

from incremental_assets.adapters.contracts.frames import as_frame
from incremental_assets.core.errors import ContractBroken

_ARGUMENTS = {
    "equal_to": "eq",
    "not_equal_to": "ne",
    "greater_than": "gt",
    "greater_than_or_equal_to": "ge",
    "less_than": "lt",
    "less_than_or_equal_to": "le",
}
"""The names of the arguments of pandera's fields, where a check has another name."""
_LONGEST = 120
"""Characters of a rule that a reason shows."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A contract as a plain value: the schema, pickled with the user's own code, and the table's columns by their places."""

    table: str
    schema: bytes
    names: tuple[str, ...]

    @property
    def unique(self) -> tuple[tuple[str, ...], ...]:
        """Columns whose values may come once; several together are one entry."""
        schema = _opened(self.schema)
        single = [(name,) for name, column in schema.columns.items() if column.unique and name in self.names]
        return (*single, *([tuple(schema.unique)] if schema.unique else []))


@dataclass(frozen=True, slots=True)
class Breach:
    """One rule, and the rows that break it. `column` is empty for a rule of several columns."""

    column: str
    rule: str
    rows: NDArray[np.bool_]

    @property
    def reason(self) -> str:
        """The reason in words, without any value of a row."""
        return f"{self.column}: {self.rule}" if self.column else self.rule


def breaches(judge: Judge, rows: pa.Table) -> tuple[Breach, ...]:
    """Every rule that some of the rows break; uniqueness is not among them. Columns are taken by place. Raises ContractBroken.

    A check that answers once for all rows, and says no, stops the table: it names no row.
    """
    schema = _opened(judge.schema)
    named = rows.select(range(len(judge.names))).rename_columns(judge.names)
    frame = as_frame(named if schema.checks else named.select([name for name in schema.columns if name in judge.names]))
    found = (*_of_columns(judge, schema, frame), *_of_rows(judge, schema, frame))
    return tuple(each for each in found if each.rows.any())


def reasons(found: Sequence[Breach], rows: int) -> tuple[NDArray[np.bool_], pa.Array, pa.Array]:
    """Whether each row breaks a rule; for each that does all reasons in one text, and the first column that one of them names; NULL for the others."""
    if not found:
        nothing = pa.nulls(rows, pa.string())
        return np.zeros(rows, dtype=bool), nothing, nothing
    masks = np.column_stack([each.rows for each in found])
    any_of: NDArray[np.bool_] = np.asarray(masks.any(axis=1), dtype=np.bool_)
    kinds, which = np.unique(masks[any_of], axis=0, return_inverse=True)
    texts, columns = [], []
    for kind in kinds:
        broken = [each for each, is_broken in zip(found, kind, strict=True) if is_broken]
        texts.append("; ".join(each.reason for each in broken))
        columns.append(next((each.column for each in broken if each.column), None))
    places = np.full(rows, -1, dtype=np.int64)
    places[any_of] = which.reshape(-1)
    taken = pa.array(places, mask=~any_of)
    return any_of, pa.array(texts, pa.string()).take(taken), pa.array(columns, pa.string()).take(taken)


@lru_cache(maxsize=32)
def _opened(schema: bytes) -> pandera.DataFrameSchema:
    found: pandera.DataFrameSchema = pickle.loads(schema)  # noqa: S301 - the driver wrote it
    for check in (*found.checks, *(each for column in found.columns.values() for each in column.checks)):
        name = getattr(check._check_fn, "__name__", "")
        if check.is_builtin_check(name):
            # Pickled, pandera's own functions have lost for which frames they are; it looks them up again at each call.
            check._check_fn = check.get_builtin_check_fn(name)
    return found


def _of_columns(judge: Judge, schema: pandera.DataFrameSchema, frame: pd.DataFrame) -> Iterator[Breach]:
    for name, column in schema.columns.items():
        if name not in frame:
            continue
        values = frame[name]
        if not column.nullable:
            yield Breach(name, "is NULL", values.isna().to_numpy(dtype=bool))
        for check in column.checks:
            yield Breach(name, _words(check), ~_passed(judge, check, values, f"{name}: {_words(check)}"))


def _of_rows(judge: Judge, schema: pandera.DataFrameSchema, frame: pd.DataFrame) -> Iterator[Breach]:
    for check in schema.checks:
        yield Breach("", _words(check), ~_passed(judge, check, frame, _words(check)))


def _passed(judge: Judge, check: pandera.Check, values: Any, rule: str) -> NDArray[np.bool_]:
    """One answer per row; what is unknown for a NULL breaks nothing, as in SQL, unless the check asks for it."""
    backend = check.get_backend(values)(check)
    try:
        answer = backend.apply(backend.preprocess(values, None))
        if isinstance(answer, pd.DataFrame):
            answer = answer.fillna(check.ignore_na).all(axis=1)
        if isinstance(answer, pd.Series):
            passed = answer.astype("boolean").reindex(values.index, fill_value=True).fillna(check.ignore_na)
            return passed.to_numpy(dtype=bool)
        fine = bool(answer)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's check raises, whose words may quote a value
        raise ContractBroken(
            f"{judge.table}: the check `{rule}` of its contract could not be run on the rows: it raised {type(error).__name__}; nothing landed, fix the check"
        ) from None
    if not fine:
        raise ContractBroken(
            f"{judge.table}: the rows as a whole break `{rule}` of its contract, which names no row; nothing landed: fix the source, or the contract"
        )
    return np.ones(len(values), dtype=bool)


def _words(check: pandera.Check) -> str:
    """The rule as the user wrote it, at most 120 characters: pandera's own checks by the argument of a field with its constant, a user's by its name, or by the words given to it."""
    name = str(check.name)
    text = str(check.error or name)
    if check.is_builtin_check(name) and text.startswith(f"{name}("):
        text = f"{_ARGUMENTS.get(name, name)} {text[len(name) + 1 : -1]}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
