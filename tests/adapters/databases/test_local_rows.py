"""Rows that Python reads, whichever database they come from."""

from __future__ import annotations

from typing import Any

import pytest

from incremental_assets.adapters.databases.local_rows import Unfit, key_texts
from tests.adapters.batches import columns

KEY = columns("id bigint, part string")


def numbered(value: Any) -> int:
    if value == "seven":
        raise Unfit("a text is no whole number")
    return int(value)


def test_a_key_that_is_not_whole_or_not_of_its_kind_is_in_no_copy() -> None:
    keys = [(1, "a"), (None, "b"), ("seven", "c"), (2, None), (2, "d")]
    assert list(key_texts(KEY, (numbered, str), keys)) == ["1,1:a", "2,1:d"]


def test_a_fault_of_a_converter_leaves_no_key_out() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(key_texts(KEY, (int, str), [("seven", "c")]))
