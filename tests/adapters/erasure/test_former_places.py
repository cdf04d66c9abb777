"""A copy that once lay in another place of the lake has left a person there: an erasure looks there too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from incremental_assets.adapters.erasure.eraser import Eraser
from incremental_assets.core.planning.plan import Mode
from tests.adapters.erasure.erasing import MAIL, dying, erased, places
from tests.conformance.stand import Stand
from tests.remains import remains

TABLE = "\n- {table: public.people, cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2, target: gold/people}\n"


@pytest.fixture
def moved(open_people: Callable[[str], Stand]) -> Stand:
    """The copy lay in `gold/people`, with its history, and lies in `silver/people` now."""
    stand = open_people(TABLE)
    stand.execute(
        "CREATE TABLE people (id int PRIMARY KEY, mail text, at timestamptz NOT NULL DEFAULT clock_timestamp())",
        f"INSERT INTO people VALUES (1, 'one@example.com', '2024-01-31 10:00:00Z'), (900001, '{MAIL}', '2024-01-31 10:00:00Z')",
    )
    stand.land()
    config = stand.shop.config
    config.write_text(config.read_text().replace("gold/people", "silver/people"))
    stand.land(mode=Mode.FULL_REFRESH)
    return stand


def test_a_person_is_erased_where_the_copy_lay_before_too(moved: Stand) -> None:
    lake = moved.shop.folder / "lake"
    assert remains(lake / "gold", MAIL) != {}
    erased(moved)
    assert remains(lake, MAIL) == {}
    assert places(moved) == set()
    moved.land()
    assert remains(lake, MAIL) == {}


def test_a_copy_that_has_not_landed_in_its_new_place_is_erased_where_it_still_lies(moved: Stand) -> None:
    lake = moved.shop.folder / "lake"
    moved.shop.config.write_text(moved.shop.config.read_text().replace("silver/people", "bronze/people"))
    erased(moved)
    assert remains(lake, MAIL) == {}
    moved.land(mode=Mode.FULL_REFRESH)
    assert remains(lake, MAIL) == {}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("step", "behind"),
    [("rewrite_former", False), ("rewrite_former", True), ("remove_files", True), ("remove_logs", True)],
)
def test_an_erasure_that_dies_beside_the_place_of_before_is_completed_by_the_same_call(
    moved: Stand, step: str, behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dying(monkeypatch, step, behind=behind):
        erased(moved)
    erased(moved)
    assert remains(moved.shop.folder / "lake", MAIL) == {}
    assert places(moved) == set()


@pytest.mark.acceptance
def test_an_erasure_that_leaves_the_place_of_before_out_is_found_out(
    moved: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known-bad variant."""
    monkeypatch.setattr(Eraser, "rewrite_former", lambda _: None)
    erased(moved)
    assert remains(moved.shop.folder / "lake/gold", MAIL) != {}
