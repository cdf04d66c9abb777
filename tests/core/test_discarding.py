"""`schema_changes: discard`, and the ledger of what a landing changes of the columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.reading import DatabaseReading
from incremental_assets.core.captures.database.settled_bound import Settled
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.model.schema_drift import TargetColumn
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.discarding import discarded_warning, discarding
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan
from incremental_assets.core.planning.schema_changes import rolled_back_changes, schema_changes
from tests.fakes import World
from tests.ports.stories import state
from tests.scenario import MONDAY, order, orders, shop

SPEC = replace(orders(), discards=True)
COLOUR = Column("colour", "text", "string", Fidelity.EXACT)
SECRET = TargetColumn("secret", "string")
LANDED = tuple((name, "") for name in SPEC.shape.names)
COPY = (*(TargetColumn(each.name, each.spark_type) for each in SPEC.columns), TargetColumn("_sync_seq", "long"))
BEFORE = replace(state(1, 1), terms=SPEC.terms, columns=LANDED)


def with_colour(spec: TableSpec) -> TableSpec:
    return replace(spec, shape=replace(spec.shape, columns=(*spec.columns, COLOUR)))


def retyped(spec: TableSpec, name: str, kind: str) -> TableSpec:
    columns = tuple(replace(each, spark_type=kind) if each.name == name else each for each in spec.columns)
    return replace(spec, shape=replace(spec.shape, columns=columns))


def planned(spec: TableSpec, previous: State | None = BEFORE, mode: Mode = Mode.SYNC) -> SyncPlan:
    return SyncPlan(
        spec=spec,
        request=Request("run", mode),
        commit_ids=CommitIds("app", 2, "batch"),
        reading=DatabaseReading(
            bound=Bound(MONDAY, None, "", None, "", "UTC", None),
            settled=Settled(None, Guarantee.SETTLED, ""),
            along=spec.cursor,
        ),
        previous=previous,
    )


def found(spec: TableSpec, copy: tuple[TargetColumn, ...] = COPY, **terms: object) -> list[str]:
    return [str(change) for change in schema_changes(planned(spec, **terms), copy)]  # type: ignore[arg-type]


# --- what is discarded ---------------------------------------------------------------------------------


def test_a_column_that_is_new_to_the_copy_is_not_read() -> None:
    spec = discarding(with_colour(SPEC), BEFORE)
    assert (spec.columns, spec.discarded, spec.shape.left_out) == (SPEC.columns, ("colour",), ("colour",))
    assert discarding(spec, BEFORE) == spec


def test_the_first_sync_takes_every_column() -> None:
    assert discarding(with_colour(SPEC), None) == with_colour(SPEC)


def test_without_discard_every_column_is_read() -> None:
    assert discarding(with_colour(orders()), BEFORE) == with_colour(orders())


def test_what_rows_are_told_apart_by_is_read_whether_it_is_new_or_not() -> None:
    keyed = replace(with_colour(SPEC), key=("id", "colour"))
    assert discarding(keyed, BEFORE) == keyed


def test_it_is_told_once_for_each_column() -> None:
    spec = discarding(with_colour(SPEC), BEFORE)
    (told,) = discarded_warning(spec, BEFORE)
    assert "new columns of the source (colour) are not read" in told
    assert discarded_warning(spec, replace(BEFORE, discarded=("colour",))) == ()


@pytest.mark.parametrize("forgets", [False, True], ids=["as known", "checkpoints lost"])
def test_a_sync_lands_without_it_and_tells_once(forgets: bool) -> None:
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.sync(SPEC)
    if forgets:
        world.memory.events.clear()
    warned = []
    for customer in ("grace", "alan"):
        order(world.database, customer, world.database.stamp())
        report = world.sync(with_colour(SPEC))
        warned.append("not read" in " ".join(report.warnings))
        assert [change.column for change in report.schema_changes] == (["colour"] if customer == "grace" else [])
    assert warned == [True, False]


# --- the ledger ----------------------------------------------------------------------------------------


def test_the_same_columns_are_no_change_and_a_new_copy_has_none() -> None:
    assert found(SPEC) == []
    assert found(with_colour(SPEC), ()) == []


def test_each_change_is_named_with_its_types_and_what_decided_it() -> None:
    evolves = orders()
    assert found(with_colour(evolves)) == ["colour: added (string), by schema_changes: evolve"]
    assert found(evolves, (*COPY, SECRET)) == ["secret: removed (string), by schema_changes: evolve"]
    left_out = replace(evolves, shape=replace(evolves.shape, left_out=("secret",)))
    assert found(left_out, (*COPY, SECRET)) == ["secret: excluded (string), by columns"]
    wider = retyped(replace(evolves, widens=True), "id", "decimal(20,0)")
    assert found(wider) == ["id: widened (bigint -> decimal(20,0)), by schema_changes: widen"]
    assert found(discarding(with_colour(SPEC), BEFORE)) == ["colour: discarded, by schema_changes: discard"]


def test_what_an_earlier_landing_has_told_is_not_told_again() -> None:
    gone = replace(BEFORE, absent=("secret",), discarded=("colour",))
    assert found(orders(), (*COPY, SECRET), previous=gone) == []
    assert found(discarding(with_colour(SPEC), gone), previous=gone) == []


def test_a_column_that_is_read_again_has_returned() -> None:
    gone = replace(BEFORE, absent=("status",))
    assert found(orders(), previous=gone) == ["status: returned (string), by schema_changes: evolve"]


def test_a_copy_that_is_written_anew_loses_what_is_gone_and_takes_other_types() -> None:
    whole = retyped(orders(), "id", "string")
    assert found(whole, (*COPY, SECRET), mode=Mode.FULL_REFRESH) == [
        "secret: removed (string), by full refresh",
        "id: retyped (bigint -> string), by full refresh",
    ]


def test_a_rollback_names_what_comes_back_and_what_goes() -> None:
    past = replace(BEFORE, columns=(("id", ""), ("secret", "")))
    now = replace(BEFORE, columns=(("id", ""), ("colour", "")))
    assert rolled_back_changes(past, now) == (
        SchemaChange("colour", Change.REMOVED, None, None, "rollback"),
        SchemaChange("secret", Change.ADDED, None, None, "rollback"),
    )


def test_a_state_keeps_it_as_its_commit_does() -> None:
    kept = replace(BEFORE, discarded=("a",), changed=(SchemaChange("b", Change.WIDENED, "int", "bigint", "widen"),))
    assert state_of(kept.to_json()) == kept
