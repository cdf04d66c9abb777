"""Which types a column takes in place: those in which each of its values is what it was."""

from __future__ import annotations

import pytest

from incremental_assets.core.model.type_widening import widens


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("byte", "short"),
        ("short", "integer"),
        ("integer", "long"),
        ("integer", "double"),
        ("float", "double"),
        ("date", "timestamp_ntz"),
        ("byte", "decimal(3,0)"),
        ("integer", "decimal(12,2)"),
        ("long", "decimal(20,0)"),
        ("decimal(8,2)", "decimal(9,2)"),
        ("decimal(8,2)", "decimal(9,3)"),
    ],
)
def test_a_type_that_holds_every_value_of_the_other_is_wider(was: str, now: str) -> None:
    assert widens(was, now)
    assert not widens(now, was)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("integer", "integer"),
        ("decimal(8,2)", "decimal(8,2)"),
        ("long", "double"),
        ("integer", "float"),
        ("integer", "decimal(11,2)"),
        ("long", "decimal(19,0)"),
        ("decimal(8,2)", "decimal(8,3)"),
        ("decimal(8,2)", "decimal(10,1)"),
        ("decimal(8,2)", "double"),
        ("date", "timestamp"),
        ("integer", "string"),
        ("string", "integer"),
        ("boolean", "integer"),
    ],
)
def test_a_type_in_which_a_value_could_become_another_one_is_not(was: str, now: str) -> None:
    assert not widens(was, now)
