"""Known-bad variants: each believes what a store says, and a test finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, BaseError

from incremental_assets.adapters.lake_store import opened
from incremental_assets.adapters.lake_store.objects import ObjectStore
from incremental_assets.core.errors import Overtaken
from tests.adapters.lake_store import test_log, test_objects
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.lake_store.bucket import opened as open_bucket
from tests.adapters.lake_store.contract import Place
from tests.adapters.lake_store.test_log import Copy

Patch = pytest.MonkeyPatch


def believing(self: ObjectStore, key: str, data: bytes) -> bool:
    """Who is told that the file is there was second; an error is one."""
    try:
        obstore.put(self._store, self._path(key), data, mode="create", use_multipart=False)
    except AlreadyExistsError:
        return False
    return True


def forgiving(self: ObjectStore, key: str, data: bytes) -> bool:
    """Whatever went wrong, somebody else was first."""
    try:
        return believing(self, key, data)
    except BaseError:
        return False


def unread(self: ObjectStore, key: str, data: bytes) -> bool:
    """What is there is ours where the store said something else than that it is there."""
    for _ in range(5):
        try:
            return believing(self, key, data)
        except BaseError:
            continue
    return True


def put(variant: Callable[[ObjectStore, str, bytes], bool]) -> Callable[[Patch], object]:
    return lambda patch: patch.setattr(ObjectStore, "_put_if_absent", variant)


@contextmanager
def place(relay: Relay) -> Iterator[Place]:
    root = new_bucket(relay.server)
    found = Place(open_bucket(relay.address, root), f"{root}/lake")
    found.put("known")
    relay.asked.clear()
    yield found
    relay.faults = {}


@contextmanager
def copy(relay: Relay) -> Iterator[Copy]:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    found = Copy(relay, f"{root}/lake/shop/public/orders", lambda: None)
    test_log.create(found.path, test_log.NEW)
    yield found
    relay.faults = {}


def landed(relay: Relay, *faults: str) -> None:
    with place(relay) as there:
        test_objects.test_what_has_landed_or_can_land_is_ours_whatever_the_store_says(relay, there, list(faults))


def anothers(relay: Relay, *faults: str) -> None:
    with place(relay) as there:
        test_objects.test_what_is_anothers_stays_so_whatever_the_store_says(relay, there, list(faults))


def kept(relay: Relay, *faults: str) -> None:
    with copy(relay) as table:
        test_log.test_a_commit_lands_with_its_files_whatever_the_store_says(table, list(faults))


def unclear(relay: Relay) -> None:
    with copy(relay) as table:
        test_log.test_where_nobody_can_tell_whether_it_landed_nothing_is_removed(table)


VARIANTS: dict[str, tuple[Callable[[Patch], object], Callable[[Relay], None]]] = {
    "who met its own file was second": (put(believing), lambda relay: landed(relay, "500 after")),
    "the files of a landed commit are removed": (put(believing), lambda relay: kept(relay, "cut after")),
    "a conflict means that it is there": (put(believing), lambda relay: landed(relay, "409")),
    "a cut connection is the end": (put(believing), lambda relay: landed(relay, "cut", "cut", "cut")),
    "what went wrong was another's": (put(forgiving), unclear),
    "what was put often enough is ours": (put(unread), unclear),
    "a store is believed to mind conditions": (
        lambda patch: patch.setattr(ObjectStore, "_check_conditional", lambda *_: None),
        test_log.test_a_store_that_lets_both_writers_win_is_refused_at_the_first_commit,
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_is_found_and_the_real_one_is_not(variant: str, relay: Relay, monkeypatch: Patch) -> None:
    undo, play = VARIANTS[variant]
    play(relay)
    relay.faults = {}
    undo(monkeypatch)
    with pytest.raises((AssertionError, BaseError, Overtaken, pytest.fail.Exception)):
        play(relay)
