"""A person is erased from all that a table has made: nothing is found by decoding what is left, whenever the erasure dies, and syncs go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from incremental_assets.adapters.erasure import rewriting
from incremental_assets.adapters.erasure.eraser import Eraser
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.maintenance.erase import erase
from incremental_assets.core.model.erased import ErasureKey
from incremental_assets.core.model.erasure import Place
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.plan import Mode
from tests.adapters.erasure.erasing import ANN, MAIL, SECRET, Died, dying, erased, grounds, places
from tests.conformance.stand import Stand

TABLE = "\n- {table: public.people, cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2, contract: {age: {ge: 0}}}\n"


@pytest.fixture
def desk(open_people: Callable[[str], Stand]) -> Stand:
    """Ann has landed, has changed, and waits in quarantine as she has changed again; she is neither the first nor the last of the table."""
    stand = open_people(TABLE)
    stand.execute(
        "CREATE TABLE people (id int PRIMARY KEY, mail text, age int, at timestamptz NOT NULL DEFAULT clock_timestamp())",
        "INSERT INTO people SELECT n, 'user' || n || '@example.com', 40, '2024-01-31 10:00:00Z' FROM generate_series(1, 5) n",
        f"INSERT INTO people VALUES (900001, '{MAIL}', 40, '2024-01-31 10:00:00Z'), (900009, 'last@example.com', 40, '2024-01-31 10:00:00Z')",
    )
    stand.land()
    for age in (41, -1):
        stand.execute(f"UPDATE people SET age = {age}, at = clock_timestamp() WHERE id = 900001")
        stand.land()
    return stand


def ids(desk: Stand) -> list[int]:
    return sorted({row[0] for row in desk.copy("people", "id")})


def go_on(desk: Stand) -> None:
    """Syncs, checks and the history go on without her, though the source still has her."""
    assert ids(desk) == [1, 2, 3, 4, 5, 900009]
    desk.execute("UPDATE people SET age = 50, at = clock_timestamp() WHERE id IN (2, 900001)")
    desk.land()
    assert places(desk) == set()
    assert ids(desk) == [1, 2, 3, 4, 5, 900009]
    assert {row[0] for row in desk.copy("people__history", "id")} == {1, 2, 3, 4, 5, 900009}
    failed = [each.detail for each in desk.verdicts("people") if not each.passed and each.check is not Check.FRESHNESS]
    assert failed == []


def test_nothing_is_left_of_a_person_and_syncs_go_on_without_her(desk: Stand) -> None:
    assert places(desk) >= {Place.COPY, Place.HISTORY, Place.QUARANTINE}
    erased(desk)
    assert places(desk) == set()
    go_on(desk)


STEPS = ("keep_out", "rewrite", "remove_files", "remove_logs", "remove_tombstones", "redact")


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("step", "behind"), [*((step, True) for step in STEPS), ("rewrite", False), ("remove_files", False)]
)
def test_an_erasure_that_dies_at_any_step_is_completed_by_the_same_call(
    desk: Stand, step: str, behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dying(monkeypatch, step, behind=behind):
        erased(desk)
    erased(desk)
    assert places(desk) == set()
    go_on(desk)


@pytest.mark.acceptance
def test_a_sync_after_a_death_neither_brings_her_back_nor_stops(desk: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "remove_log", die)
        with pytest.raises(Died):
            erased(desk)
    desk.land()
    assert 900001 not in ids(desk)
    erased(desk)
    go_on(desk)


@pytest.mark.acceptance
@pytest.mark.parametrize("left_out", ["remove_files", "remove_logs", "redact"])
def test_an_erasure_that_leaves_a_step_out_is_found_out(
    desk: Stand, left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known-bad variants."""
    with desk.runtime() as runtime:
        runtime.checkpoints.pause(desk.spec("people").id, "me", f"until {MAIL} has answered")
    monkeypatch.setattr(Eraser, left_out, lambda _: None)
    erased(desk)
    assert places(desk) != set()


def test_without_the_list_of_erased_keys_nothing_is_read_until_it_is_there_again(desk: Stand) -> None:
    erased(desk)
    (kept,) = (desk.shop.folder / "lake/_erased").rglob("*.json")
    text = kept.read_text()
    for mode in (Mode.SYNC, Mode.FULL_REFRESH):
        kept.unlink()
        desk.execute("UPDATE people SET age = 50, at = clock_timestamp() WHERE id IN (2, 900001)")
        stopped = desk.sync(mode=mode)["people"]
        assert "keys were erased from it, and the list that keeps them out is gone from the lake" in str(stopped.error)
        kept.write_text(text)
        desk.land(mode=mode)
        assert places(desk) == set()
    for file in desk.shop.folder.glob("checkpoints.db*"):
        file.unlink()
    kept.unlink()
    desk.execute("UPDATE people SET age = 51, at = clock_timestamp() WHERE id IN (2, 900001)")
    assert "the list that keeps them out is gone" in str(desk.sync()["people"].error)


def test_a_list_that_another_key_has_written_is_not_replaced(desk: Stand) -> None:
    erased(desk)
    with desk.runtime() as runtime:
        other, ports = Eraser(grounds(desk), desk.spec("people"), ANN, ErasureKey(SECRET[::-1])), runtime.ports("shop")
        with pytest.raises(IncrementalAssetsError, match="was written with another key"):
            erase(other.spec, "run", ports, other)
