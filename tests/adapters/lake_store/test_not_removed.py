"""A role that may write to a lake and remove nothing from it: what has landed is said to have landed, and what stays is said with the right that is missing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.log.new_table import NewTable, create
from incremental_assets.adapters.lake_store import opened
from incremental_assets.core.errors import LakeRefused, Overtaken
from incremental_assets.core.maintenance.prune import prune_table
from incremental_assets.core.model.paths import staging_path
from incremental_assets.core.model.retention import Pruned, Retention
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.lake_store.bucket import opened as open_bucket
from tests.adapters.lake_store.conftest import OpenStand
from tests.adapters.lake_store.test_log import NEW, SPEC, Copy
from tests.shop import MAKE_THREE

if TYPE_CHECKING:
    from incremental_assets.adapters.lake_store.objects import ObjectStore

RIGHT = "`s3:DeleteObject`"


@pytest.fixture
def copy(relay: Relay) -> Iterator[Copy]:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    copy = Copy(relay, f"{root}/lake/shop/public/orders", lambda: None)
    create(copy.path, NEW)
    yield copy
    relay.keeps = False


def test_what_landed_is_reported_as_landed_and_what_stays_as_a_warning(open_stand: OpenStand, relay: Relay) -> None:
    stand = open_stand('- "public.orders:updated_at:timestamp!upsert"')
    stand.execute(*MAKE_THREE)
    relay.keeps = True
    for change in ("UPDATE orders SET note = 'second' WHERE id < 9", "DELETE FROM orders WHERE id = 500"):
        stand.land("orders")
        stand.execute(change, "UPDATE orders SET note = 'third' WHERE id = 300")
    report = stand.land("orders")["orders"]
    (told,) = report.warnings
    folder = staging_path(stand.shop.in_store, stand.spec("orders").id)
    assert told.startswith(f"what was staged stays in {folder} until a later sync may remove it: ")
    assert told.endswith(f"check its credentials and the rights that they have: this takes {RIGHT}")
    assert len(stand.staged("orders")) == 3
    with stand.runtime() as runtime:
        pruned = prune_table(stand.spec("orders"), Retention(files=timedelta()), "run", runtime.ports("shop"))
    assert isinstance(pruned, Pruned)
    (left,) = pruned.left
    assert RIGHT in left
    relay.keeps = False
    stand.execute("UPDATE orders SET note = 'last' WHERE id = 300")
    assert stand.land("orders")["orders"].warnings == ()
    assert stand.staged("orders") == []
    assert [note for _, note in stand.copy("orders", "id", "note")].count("last") == 1


def test_who_is_overtaken_and_may_remove_nothing_was_overtaken(copy: Copy) -> None:
    before = copy.state()
    copy.commit(1, ("theirs.parquet",))
    late = copy.version(before, 2, ("ours.parquet",))
    copy.relay.keeps = True
    with pytest.raises(Overtaken):
        late.commit(SPEC)
    assert copy.files() == {"_delta_log", "theirs.parquet", "ours.parquet"}


def test_a_checkpoint_that_was_written_is_not_said_to_be_missing_where_the_log_before_it_must_stay(
    relay: Relay, caplog: pytest.LogCaptureFixture
) -> None:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    path = f"{root}/lake/shop/public/orders"
    create(path, NewTable(NEW.columns, {**NEW.properties, "delta.logRetentionDuration": "interval 0 seconds"}))
    copy = Copy(relay, path, lambda: None)
    relay.keeps = True
    with caplog.at_level(logging.WARNING):
        for seq in range(1, 21):
            copy.commit(seq)
    names = list(open_bucket(relay.address, root).list_from(f"{path}/_delta_log"))
    assert f"{20:020d}.checkpoint.parquet" in names
    said = [each.getMessage() for each in caplog.records]
    assert said
    assert all("what its log no longer needs could not be removed" in each for each in said), said


@pytest.mark.parametrize(
    ("method", "ask", "right"),
    [
        ("GET", lambda store, root: store.list_from(root), "s3:ListBucket"),
        ("GET", lambda store, root: store.read(f"{root}/1"), "s3:GetObject"),
        ("PUT", lambda store, root: store.put(f"{root}/1", b""), "s3:PutObject"),
        ("PUT", lambda store, root: store.put_if_absent(f"{root}/1", b"1"), "s3:PutObject"),
        ("POST", lambda store, root: store.delete(f"{root}/1"), "s3:DeleteObject"),
    ],
)
def test_the_right_that_a_role_lacks_is_named(
    relay: Relay, method: str, ask: Callable[[ObjectStore, str], object], right: str
) -> None:
    root = new_bucket(relay.server)
    relay.faults = {method: ["403 AccessDenied"] * 2}
    with pytest.raises(LakeRefused, match=rf"AccessDenied: .*\); check its credentials .*: this takes `{right}`$"):
        ask(open_bucket(relay.address, root), root)
