"""The last seen catalogue as JSON: table shapes, kept so that definitions load without a source."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from pydantic import TypeAdapter, ValidationError

from incremental_assets.core.model.table_shape import TableShape


def dump_shapes(shapes: Iterable[TableShape]) -> str:
    """One JSON document of all shapes."""
    return _shapes().dump_json(tuple(shapes)).decode()


def load_shapes(text: str) -> tuple[TableShape, ...] | None:
    """Read them back; None if another version of this program wrote them in another form: the next look at the source writes them again."""
    try:
        return _shapes().validate_json(text)
    except ValidationError:
        return None


@cache
def _shapes() -> TypeAdapter[tuple[TableShape, ...]]:
    """The adapter for JSON, made from the dataclasses themselves, so that no field of theirs is forgotten here."""
    return TypeAdapter(tuple[TableShape, ...])
