"""T91: a sync into a store ends anywhere, or the store does; the next sync makes it good."""

from __future__ import annotations

import pytest

from incremental_assets.demo.object_store import EmbeddedObjectStore
from tests.adapters.lake_store.shop_in_store import StoreStand
from tests.conformance.killing import killed
from tests.conformance.points import Point, at_points, once
from tests.conformance.scenario import of_store
from tests.conformance.store_tables import CHANGES, assert_landed

OF_LOAD = (Point.READING, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.LANDED)


@of_store(
    "T91",
    "kill -9 of the whole process at each of the nine points of a landing, with changes before and after",
    holds="one more sync: each row and each version is there once, no batch, lease or open sequence is left",
)
@pytest.mark.parametrize("point", [*Point], ids=str)
def test_a_killed_sync(stored: StoreStand, point: Point) -> None:
    stored.land()
    stored.execute(*CHANGES[:3])
    killed(stored, point, "orders", "incremental")  # type: ignore[arg-type]
    stored.execute(*CHANGES[3:])
    stored.land()
    assert_landed(stored)


@of_store(
    "T91",
    "kill -9 at each of four points of a first load",
    holds="the next sync has all rows, each once",
)
@pytest.mark.parametrize("point", OF_LOAD, ids=str)
def test_a_killed_load(stored: StoreStand, point: Point) -> None:
    killed(stored, point, "orders", "first load")  # type: ignore[arg-type]
    stored.land()
    stored.execute(*CHANGES)
    stored.land()
    assert_landed(stored)


@of_store(
    "T91",
    "kill -9 of the store itself, before a commit and behind one; it is started again later",
    holds="the sync fails by its name, and the next one lands all, each row once",
)
@pytest.mark.parametrize("point", [Point.READING, Point.BEFORE_COMMIT, Point.AFTER_COMMIT], ids=str)
def test_a_killed_store(stored: StoreStand, seaweed: EmbeddedObjectStore, point: Point) -> None:
    stored.land()
    stored.execute(*CHANGES)
    told = stored.sync(through=lambda ports: at_points(ports, once(point, "orders", seaweed.crash)))
    assert any(report.error for report in told.values()), told
    seaweed.start()
    stored.land()
    assert_landed(stored)
