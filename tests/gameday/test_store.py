"""The lake lies in a store that throttles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from incremental_assets.demo.object_store import KEY
from tests.adapters.lake_store.bucket import Relay, relaying
from tests.adapters.lake_store.seaweed import new_bucket, serving_from
from tests.gameday.deployment import Lake, Watched, deployed
from tests.gameday.game import Game

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.events:id:integer"
"""
_METHODS = ("GET", "PUT", "POST", "HEAD")


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Watched]:
    """One of its own, whose lake is reached through a relay."""
    with ExitStack() as stack:
        store = stack.enter_context(serving_from(tmp_path / "store"))
        between = stack.enter_context(relaying(store.address))
        root = f"{new_bucket(store)}/lake"
        bucket = root.split("/")[2]
        stores = f'stores: {{{bucket}: {{endpoint: "http://{between.address}", region: us-east-1, access_key_id: {{env: LAKE_KEY}}, secret_access_key: {{env: LAKE_SECRET}}}}}}'
        lake = Lake(
            root, f"lake: {root}\n{stores}\n", {**store.options(), "allow_http": "true"}, {"LAKE_KEY": KEY, "LAKE_SECRET": store.secret},
            TABLES, ("orders", "events"),
        )  # fmt: skip
        this = stack.enter_context(deployed(tmp_path / "site", lake))
        this.between = between
        yield this


def throttle(between: Relay) -> None:
    """Every request is answered with 503."""
    between.faults.update({method: ["503"] * 1_000_000 for method in _METHODS})


def test_the_store_throttles(game: Game) -> None:
    site = game.deployment
    game.breaks("the store answers every request with 503", lambda: throttle(site.between))
    site.move()
    game.fires("TableFailing", "shop public.orders")
    game.looks("table-failing")
    game.looks("store-throttled", "503")
    game.by_hand("the store answers again", site.between.faults.clear)
    game.fixes("store-throttled")
    game.verifies("store-throttled")
