"""Contracts from what is written to what is meant, and in the types of the columns that they judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from incremental_assets.core.config.passable import BOUNDS, Slip, impassable
from incremental_assets.core.errors import ColumnMissing, ConfigurationError, Problem
from incremental_assets.core.model.column import WHOLE, Column
from incremental_assets.core.model.contract import ColumnRules, Constant, Contract
from incremental_assets.core.model.table_shape import TableShape

if TYPE_CHECKING:
    from incremental_assets.core.config.table_document import TableDocument

_WITH_CONSTANTS = (*BOUNDS, "isin", "notin")
_OF_TEXT = ("matches", "min_length", "max_length")


def contract_of(document: TableDocument, file: Path, line: int) -> Contract | None:
    """The contract as it is written, constants as text; None where the table has none."""
    written = document.contract
    if written is None:
        return None
    rules = (
        ()
        if isinstance(written, str)
        else tuple(ColumnRules(column=name, **dict(each)) for name, each in written.items())
    )
    model = written if isinstance(written, str) else ""
    return Contract(model, rules, document.on_breach, document.max_fraction, str(file), line)


def typed_contract(contract: Contract, shape: TableShape) -> Contract:
    """The contract with constants in the types of the columns. Raises ColumnMissing, and ConfigurationError where a rule does not fit its column."""
    return replace(contract, rules=tuple(_typed(contract, each, shape) for each in contract.rules))


def _typed(contract: Contract, rules: ColumnRules, shape: TableShape) -> ColumnRules:
    column = next((each for each in shape.columns if each.name == rules.column), None)
    if column is None:
        raise ColumnMissing(shape.id, "contract", rules.column, shape.names)
    kind = column.spark_type.partition("(")[0]
    for name in _OF_TEXT:
        if getattr(rules, name) is not None and kind != "string":
            raise _misfit(contract, column, f"`{name}` is for texts")
    read = _READERS.get("bigint" if kind in WHOLE else kind)
    for name in BOUNDS:
        if getattr(rules, name) is not None and kind in ("boolean", "binary"):
            raise _misfit(contract, column, f"`{name}` compares what has an order")
    given = [name for name in _WITH_CONSTANTS if getattr(rules, name) is not None]
    if read is None:
        if given:
            raise _misfit(contract, column, f"`{given[0]}` cannot be written for it; use a pandera model")
        return rules
    try:
        found = _read(rules, read)
    except (ValueError, InvalidOperation):
        raise _misfit(contract, column, f"write {_AS_WRITTEN.get(kind, 'a number')} to compare it with") from None
    if slip := impassable(found):
        raise _misfit(contract, column, slip[1])
    return found


def never_passable(rules: ColumnRules) -> Slip | None:
    """The slip of rules that no value keeps, of whatever type the column may be. Their constants are text yet."""
    for read in _READERS.values():
        try:
            if impassable(_read(rules, read)) is None:
                return None
        except (ValueError, TypeError, InvalidOperation):  # of a column of this type they cannot be
            continue
    return impassable(rules)


def _read(rules: ColumnRules, read: Callable[[str], Constant]) -> ColumnRules:
    written = {name: value for name in _WITH_CONSTANTS if (value := getattr(rules, name)) is not None}
    typed = {
        name: tuple(read(text) for text in value) if isinstance(value, tuple) else read(value)
        for name, value in written.items()
    }
    return replace(rules, **typed)  # type: ignore[arg-type]


def _misfit(contract: Contract, column: Column, why: str) -> ConfigurationError:
    cure = f"the column is {column.source_type}: {why}"
    return ConfigurationError((Problem(contract.file, contract.line, f"contract: {column.name}", cure),))


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(text)
    return number


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _zoneless(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo:
        raise ValueError(text)
    return moment


_READERS: Mapping[str, Callable[[str], Constant]] = MappingProxyType(
    {
        "bigint": int,
        "float": float,
        "double": float,
        "decimal": _decimal,
        "boolean": _boolean,
        "string": str,
        "date": date.fromisoformat,
        "timestamp": _aware,
        "timestamp_ntz": _zoneless,
    }
)
_AS_WRITTEN = {
    "boolean": "true or false",
    "date": "a day like 2024-01-31",
    "timestamp": "a moment like 2024-01-31T10:00:00Z",
    "timestamp_ntz": "a moment without a zone like 2024-01-31T10:00:00",
    "tinyint": "a whole number",
    "smallint": "a whole number",
    "int": "a whole number",
    "bigint": "a whole number",
}
