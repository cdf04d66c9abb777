"""A table from which an earlier release has erased keys did not know that there has to be a list of them: from the next sync on it does, and from the next pruning on where nothing moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.maintenance.prune import prune_all
from incremental_assets.core.model.retention import Retention
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.sync import sync_table
from tests.core.stories import UPSERT, one_more, three_orders
from tests.fakes import World
from tests.scenario import ORDERS


class List:
    """Of erased keys, as long as `is_there`."""

    is_there = True

    def has(self, table: TableId) -> bool:
        return self.is_there

    def among(self, spec: TableSpec, texts: object) -> frozenset[str]:
        return frozenset()


def ports(world: World, kept: List) -> Ports:
    return replace(world.ports(), erasures=kept)


def is_marked(world: World) -> bool:
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    return state.erased


def test_a_table_that_is_pruned_is_marked_whether_or_not_anything_of_it_is_removed() -> None:
    world, kept = three_orders(), List()
    world.sync(UPSERT)
    assert not is_marked(world)
    assert list(prune_all([UPSERT], lambda _: Retention(), "prune", ports(world, kept))) == []
    assert is_marked(world)
    events = len(world.memory.events)
    assert list(prune_all([UPSERT], lambda _: Retention(), "prune", ports(world, kept))) == []
    assert len(world.memory.events) == events
    kept.is_there = False
    one_more(world)
    with pytest.raises(LakeRefused, match="the list that keeps them out is gone"):
        sync_table(UPSERT, Request("sync"), ports(world, kept))


def test_a_table_from_which_nothing_was_erased_is_not_marked() -> None:
    world, kept = three_orders(), List()
    kept.is_there = False
    world.sync(UPSERT)
    assert list(prune_all([UPSERT], lambda _: Retention(), "prune", ports(world, kept))) == []
    one_more(world)
    sync_table(UPSERT, Request("sync"), ports(world, kept))
    assert not is_marked(world)


def test_a_batch_that_was_staged_beside_a_list_marks_the_table_that_lands_it() -> None:
    world, kept = three_orders(), List()
    world.sync(UPSERT)
    one_more(world)
    world.stage.keeps_out = True
    sync_table(UPSERT, Request("sync"), ports(world, kept))
    assert is_marked(world)
