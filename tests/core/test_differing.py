"""Rows that differ are found by the places of their keys: parts of the key's line are counted, and only those that differ are looked into."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.core.differences import differing as bisecting
from incremental_assets.core.differences.differing import differing
from tests.fakes.placed import FakePlacedRows
from tests.scenario import orders


@pytest.fixture(autouse=True, params=[5_000, 0], ids=["read at once", "by parts"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisecting, "FEW", request.param)


def rows(
    count: int, changed: frozenset[int] = frozenset(), without: frozenset[int] = frozenset()
) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "customer": "c",
            "status": "other" if number in changed else "new",
            "updated_at": "2024-01-04T12:00:00Z",
        }
        for number in range(count)
        if number not in without
    ]


@pytest.mark.parametrize("key", [("id",), ("id", "customer")])
def test_ten_rows_among_many_are_found_by_reading_few(key: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisecting, "FEW", 300)
    spec = replace(orders(), key=key)
    lost, other = frozenset({7, 4_000, 9_999}), frozenset({0, 1, 5_000, 7_777})
    there = rows(10_000, changed=other)
    here = rows(10_000, without=lost)
    copy, source = FakePlacedRows(spec, here, here), FakePlacedRows(spec, there, there)
    found = differing(spec, copy, source)
    assert found is not None
    assert (found.missing, found.extra) == (7, 4)
    assert len(found.places.numbers or ()) == 7
    assert (copy.read, source.read) < (300, 300)


def test_rows_outside_of_the_ends_of_the_copy_are_found() -> None:
    spec = orders()
    here, there = rows(50, without=frozenset(range(10))), rows(60)
    found = differing(spec, FakePlacedRows(spec, here, here), FakePlacedRows(spec, there, there))
    assert found is not None
    assert found.places.numbers == frozenset([*range(10), *range(50, 60)])
