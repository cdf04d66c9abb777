"""`pii` is of the columns whose names it had when rows landed: whoever exchanges names in the source shows nobody what was hidden."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.row_difference import RowDifference, without_pii
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.as_landed import as_landed
from incremental_assets.core.planning.report import Status
from tests.core.stories import UPSERT
from tests.core.test_renames import NUMBERED, called, opened
from tests.fakes import World
from tests.scenario import ORDERS

PERSONAL = replace(NUMBERED, pii=("customer",))
EXCHANGED = called(PERSONAL, customer="status", status="customer")
WHOLE = replace(PERSONAL, strategy=Strategy.FULL_REFRESH, cursor=None)


def landed(world: World) -> State:
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    return state


@pytest.mark.parametrize("spec", [PERSONAL, WHOLE])
def test_names_that_are_exchanged_stop_the_table_until_pii_has_the_new_one_too(spec: TableSpec) -> None:
    world = opened()
    world.sync(spec)
    exchanged = called(spec, customer="status", status="customer")
    with pytest.raises(SchemaChanged) as stopped:
        world.sync(exchanged)
    assert str(stopped.value) == (
        "shop.public.orders: the column 'status' had the name 'customer' when rows landed, which `pii` hides, and would be shown now: write 'status' into `pii`"
    )
    followed = replace(exchanged, pii=("status",))
    assert world.sync(followed).status in (Status.LANDED, Status.IDLE)
    assert as_landed(followed, landed(world)).personal == ("status",)


def test_until_then_neither_of_them_is_shown() -> None:
    world = opened()
    world.sync(PERSONAL)
    spec = as_landed(EXCHANGED, landed(world))
    row = RowDifference(tuple(f"{name} of somebody" for name in spec.shape.names), None)
    shown = dict(zip(spec.shape.names, without_pii(spec, row).source or (), strict=True))
    assert (shown["customer"], shown["status"], shown["id"]) == ("(pii)", "(pii)", "id of somebody")


def test_a_name_that_is_added_to_pii_and_one_that_is_taken_out_stop_nothing() -> None:
    world = opened()
    world.sync(replace(PERSONAL, pii=()))
    for pii in (("customer",), ("customer", "status"), ("status",), ("customer",), ()):
        world.sync(replace(PERSONAL, pii=pii))
        assert as_landed(replace(PERSONAL, pii=pii), landed(world)).personal == pii


def test_the_names_are_kept_with_what_landed_where_there_are_any() -> None:
    world = opened()
    world.sync(PERSONAL)
    state = landed(world)
    assert state.pii == ("customer",)
    assert state_of(state.to_json()) == state
    assert "pii" not in replace(state, pii=()).to_json()


def test_where_a_source_tells_no_column_from_another_the_name_is_the_column() -> None:
    world = opened()
    world.sync(replace(UPSERT, pii=("customer",)))
    assert as_landed(replace(UPSERT, pii=("customer",)), landed(world)).personal == ("customer",)
