"""A store that throttles is asked again for as long as work has patience; a look ends sooner, and a store that is not there is not waited for as long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import obstore
import pytest

from incremental_assets.adapters.lake_store import objects, patience
from incremental_assets.adapters.lake_store.objects import ObjectStore
from incremental_assets.adapters.lake_store.patience import at_work
from incremental_assets.core.errors import StoreUnreachable
from incremental_assets.core.model.paths import table_path
from tests.adapters.lake_store.bucket import QUICKLY, Relay, new_bucket, opened
from tests.adapters.lake_store.conftest import OpenStand
from tests.adapters.lake_store.contract import Place
from tests.shop import MAKE_THREE

EACH_WAY = pytest.mark.parametrize(
    "ask",
    [
        lambda store, folder: store.list_from(folder),
        lambda store, folder: list(store.files_in(folder)),
        lambda store, folder: store.read(f"{folder}/known"),
        lambda store, folder: store.end(f"{folder}/known", 2),
        lambda store, folder: store.head(f"{folder}/known"),
        lambda store, folder: store.put(f"{folder}/1.json", b"first"),
        lambda store, folder: store.put_if_absent(f"{folder}/2.json", b"second"),
        lambda store, folder: write(store, f"{folder}/3.parquet"),
        lambda store, folder: store.delete(f"{folder}/known"),
        lambda store, folder: store.delete_prefix(folder),
    ],
)


SHORTLY = {"init_backoff": timedelta(milliseconds=20), "max_backoff": timedelta(milliseconds=60), "base": 2}


def write(store: ObjectStore, key: str) -> None:
    with store.new(key) as file:
        file.write(b"rows")


@pytest.fixture
def place(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A request is made again for 0.3 seconds by a look, and for 3 by work."""
    monkeypatch.setattr(objects, "_RETRY", {**QUICKLY, "backoff": SHORTLY})
    monkeypatch.setattr(patience, "_LOOK_SECONDS", 0.3)
    monkeypatch.setattr(patience, "_WORK_SECONDS", 3.0)
    root = new_bucket(relay.server)
    place = Place(opened(relay.address, root), f"{root}/lake")
    place.put("known")
    yield place
    relay.busy_until = 0.0


@EACH_WAY
def test_work_outlasts_a_store_that_throttles(
    relay: Relay, place: Place, ask: Callable[[ObjectStore, str], object]
) -> None:
    relay.busy_until = time.monotonic() + 1.0
    with at_work():
        ask(place.store, place.root)  # type: ignore[arg-type]
    assert time.monotonic() > relay.busy_until


@EACH_WAY
def test_a_look_does_not_and_says_what_throttles_and_what_to_do(
    relay: Relay, place: Place, ask: Callable[[ObjectStore, str], object]
) -> None:
    relay.busy_until = time.monotonic() + 60.0
    with pytest.raises(StoreUnreachable, match=r"503 .*the next sync goes on; ask it for less, by fewer tables"):
        ask(place.store, place.root)  # type: ignore[arg-type]
    assert time.monotonic() < relay.busy_until - 50.0


def test_a_store_that_is_not_there_is_not_waited_for_as_long(relay: Relay, place: Place) -> None:
    relay.faults = {"GET": ["cut"] * 1000}
    begun = time.monotonic()
    with at_work(), pytest.raises(StoreUnreachable, match="did not answer"):
        place.store.read(f"{place.root}/known")
    assert time.monotonic() - begun < 2.0


def test_a_listing_that_is_throttled_in_the_middle_names_each_file_once(
    relay: Relay, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"{number:04d}" for number in range(120)}
    for name in names:
        place.put(f"many/{name}")
    listed, seen = obstore.list, list[int]()

    def cutting(*asked: Any, **options: Any) -> Iterator[Any]:
        for page in listed(*asked, **options):
            yield page
            if len(seen) < 2:
                seen.append(len(page))
                raise OSError("503 Service Unavailable")

    monkeypatch.setattr(obstore, "list", cutting)
    with at_work():
        found = [name for name, _ in place.store.files_in(f"{place.root}/many")]
    assert (len(seen), sorted(found)) == (2, sorted(names))


@pytest.mark.acceptance
def test_where_the_folder_of_one_table_is_throttled_the_others_go_on(
    open_stand: OpenStand, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_WORK_SECONDS", 1.0)
    stand = open_stand(
        '- "public.orders:updated_at:timestamp!upsert"\n- {table: public.prices, strategy: full_refresh, refresh_every: 1s}'
    )
    stand.execute(*MAKE_THREE)
    stand.land()
    stand.execute("UPDATE orders SET note = 'second' WHERE id < 9", "UPDATE prices SET price = price + 1")
    time.sleep(1)
    folder = table_path(stand.shop.in_store, stand.spec("orders").id).partition("://")[2]
    relay.within, relay.busy_until = f"/{folder}/", time.monotonic() + 600
    reports = stand.sync()
    assert "the store throttles" in (reports["orders"].error or "")
    assert reports["prices"].error is None
    stand.assert_equal("prices")
    relay.busy_until = 0.0
    stand.land()
    stand.assert_equal("orders")
