"""How far a table has been read: in words, in JSON, and against a value that somebody names."""

from datetime import UTC, datetime

import pytest

from incremental_assets.core.captures.database.position import UNREAD, DatabasePosition, Settling
from incremental_assets.core.model.cursor import CursorType, CursorValue

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


AT_50 = DatabasePosition(number(50), number(60), Settling(number(60), NOON, 990), number(99))


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
    position: DatabasePosition, value: CursorValue, expected: bool
) -> None:
    assert position.reaches(value) is expected


def test_people_are_told_the_watermark() -> None:
    assert (str(AT_50), str(UNREAD)) == ("50", "nothing")


@pytest.mark.parametrize("position", [AT_50, UNREAD])
def test_a_position_comes_back_as_it_was_written(position: DatabasePosition) -> None:
    assert DatabasePosition.from_json({"version": 3, **position.to_json()}) == position


def test_a_reset_keeps_how_far_was_read_unless_by_another_cursor() -> None:
    assert AT_50.rewound(number(20), same_cursor=True) == DatabasePosition(number(20), number(60))
    assert AT_50.rewound(None, same_cursor=False) == UNREAD


def test_a_reset_still_knows_which_partitions_it_has_read_so_that_one_that_joined_since_is_found() -> None:
    position = DatabasePosition(number(50), number(60), zones=("UTC",), members=(7, 9), updates=3)
    assert position.rewound(number(20), same_cursor=True) == DatabasePosition(
        number(20), number(60), members=(7, 9), updates=3
    )
    assert position.forgotten() == DatabasePosition(members=(7, 9), updates=3)
