"""No name that our own code gives to a frame or a column can be a column of a source."""

from __future__ import annotations

import re

import pytest

from incremental_assets.core.errors import NameRefused
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.schema_drift import OWN_PREFIX, check_names
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from tests.adapters import own_names


@pytest.mark.parametrize(
    "name", sorted({*own_names.constants(), *(f"{OWN_PREFIX}{word}" for word in own_names.words())})
)
@pytest.mark.parametrize("strategy", Strategy)
def test_a_source_with_a_column_of_our_name_is_refused_by_that_name(name: str, strategy: Strategy) -> None:
    columns = tuple(Column(each, "text", "string", Fidelity.EXACT) for each in ("id", name.upper()))
    spec = TableSpec(TableShape(TableId("shop", "public", "orders"), columns), strategy)
    with pytest.raises(NameRefused, match=re.escape(repr(name.upper()))):
        check_names(spec)


def test_no_two_names_are_the_same() -> None:
    names = [
        value
        for name, value in vars(own_names.own).items()
        if name.isupper() and isinstance(value, str) and value != OWN_PREFIX
    ]
    assert sorted(names) == sorted(set(names))


def test_every_name_of_a_frame_or_a_column_is_taken_from_one_place() -> None:
    assert own_names.bare_names() == []


def test_the_names_are_read_from_the_code() -> None:
    """A reading that found nothing would prove nothing."""
    assert {"batch", "target", "copy", "times", "key_0", "more", "place", "lowest0"} <= own_names.words()
    assert {"t", "q", "m", "r", "f", "a", "n", "number", "hash", "highest", "digest"} <= own_names.sql_aliases()
