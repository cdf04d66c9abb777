"""How far a table has been read: in words, in JSON, and against a value that somebody names."""

from datetime import UTC, datetime

import pytest

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.position import UNREAD, Position, Settling

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


AT_50 = Position(number(50), number(60), Settling(number(60), NOON, 990), number(99))


@pytest.mark.parametrize(
    ("position", "value", "expected"),
    [
        (AT_50, number(49), True),
        (AT_50, number(50), True),
        (AT_50, number(51), False),
        (UNREAD, number(0), False),
        (AT_50, CursorValue(CursorType.DATE, "2024-01-31"), False),
    ],
)
def test_a_position_reaches_what_lies_below_its_watermark(
    position: Position, value: CursorValue, expected: bool
) -> None:
    assert position.reaches(value) is expected


def test_people_are_told_the_watermark() -> None:
    assert (str(AT_50), str(UNREAD)) == ("50", "nothing")


@pytest.mark.parametrize("position", [AT_50, UNREAD])
def test_a_position_comes_back_as_it_was_written(position: Position) -> None:
    assert Position.from_json(position.to_json()) == position


def test_a_reset_keeps_how_far_was_read_unless_by_another_cursor() -> None:
    assert AT_50.rewound(number(20), same_cursor=True) == Position(number(20), number(60))
    assert AT_50.rewound(None, same_cursor=False) == UNREAD
