"""Which columns has the source renamed, and what does a sync make of it, whatever interrupts it?"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from incremental_assets.core.config.masks import with_masks
from incremental_assets.core.config.where import parse_where
from incremental_assets.core.errors import CommitMissing, SchemaChanged, TermsChanged
from incremental_assets.core.model.as_copied import as_copied
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.mask import Mask
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.renames import as_renamed, renames_of
from incremental_assets.core.planning.report import Status
from tests.core.stories import UPSERT, assert_equal, opened
from tests.core.test_column_identity import identified
from tests.fakes import Killed, World
from tests.scenario import ORDERS, order, orders

NUMBERED = identified(UPSERT, id="7.1", customer="7.2", status="7.3", updated_at="7.4")


def called(spec: TableSpec, **names: str) -> TableSpec:
    """The table once the source has given its columns these names."""
    columns = tuple(replace(each, name=names.get(each.name, each.name)) for each in spec.columns)
    key = tuple(names.get(name, name) for name in spec.key)
    return replace(spec, key=key, shape=replace(spec.shape, columns=columns))


def without(spec: TableSpec, identity: str) -> TableSpec:
    """The table once a column of it has been dropped."""
    return replace(
        spec, shape=replace(spec.shape, columns=tuple(each for each in spec.columns if each.identity != identity))
    )


def landed(spec: TableSpec = NUMBERED) -> State:
    world = opened()
    world.sync(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    return state


def rename(world: World, before: str, after: str) -> None:
    """In the source, where no row is stamped for it."""
    table = world.database.tables[ORDERS]
    table.rows = {
        number: replace(row, values={after if name == before else name: value for name, value in row.values.items()})
        for number, row in table.rows.items()
    }


def test_a_name_is_followed_by_the_sources_own_number() -> None:
    assert renames_of(called(NUMBERED, status="state"), landed()) == (Rename("status", "state"),)
    assert renames_of(NUMBERED, landed()) == ()


@pytest.mark.parametrize("spec", [NUMBERED, UPSERT], ids=["by a number", "by a source that tells none"])
def test_a_key_that_is_renamed_by_case_alone_is_followed_and_asks_for_nothing(spec: TableSpec) -> None:
    world, now = opened(), called(spec, id="ID")
    world.sync(spec)
    rename(world, "id", "ID")
    report = world.sync(now)
    assert [str(change) for change in report.schema_changes] == ["ID: renamed (id -> ID), by schema_changes: evolve"]
    world.database.update(ORDERS, {"customer": "grace"}, status="moved", updated_at=world.database.stamp())
    world.sync(now)
    assert_equal(world)
    assert world.sync(now).status is Status.IDLE


def chosen_and_masked(spec: TableSpec, where: str, masked: str) -> TableSpec:
    return with_masks(replace(spec, where=parse_where(where)), ((masked, Mask.REDACT),))


@pytest.mark.parametrize(
    ("now", "renames"),
    [
        (
            chosen_and_masked(
                called(NUMBERED, status="Status", customer="CUSTOMER"), "\"Status\" <> 'status'", "CUSTOMER"
            ),
            {Rename("status", "Status"), Rename("customer", "CUSTOMER")},
        ),
        (
            chosen_and_masked(called(UPSERT, status="Status", customer="CUSTOMER"), "Status <> 'status'", "CUSTOMER"),
            {Rename("status", "Status"), Rename("customer", "CUSTOMER")},
        ),
        (
            chosen_and_masked(called(NUMBERED, status="state of it"), "\"state of it\" <> 'status'", "customer"),
            {Rename("status", "state of it")},
        ),
        (
            as_copied(
                chosen_and_masked(
                    called(NUMBERED, status="STATUS", customer="Customer"), "STATUS <> 'status'", "Customer"
                ),
                ColumnNames.SNAKE_CASE,
            ),
            set(),
        ),
    ],
    ids=["by case, and a number", "by case", "by a number", "by case, and not in the copy"],
)
def test_the_columns_of_a_condition_and_of_masks_are_followed_and_ask_for_nothing(
    now: TableSpec, renames: set[Rename]
) -> None:
    before = chosen_and_masked(NUMBERED if now.columns[0].identity else UPSERT, "status <> 'status'", "customer")
    named = replace(before.terms, column_names=now.terms.column_names)
    state = as_renamed(now, replace(landed(before), terms=named))
    assert set(renames_of(now, replace(landed(before), terms=named))) == renames
    assert state is not None
    assert state.terms == now.terms


@pytest.mark.parametrize("where", ["status <> 'Status'", "Status = 'status'", "customer <> 'status'", "id <> 1"])
def test_another_condition_is_no_rename(where: str) -> None:
    before = chosen_and_masked(NUMBERED, "status <> 'status'", "customer")
    now = chosen_and_masked(called(NUMBERED, status="Status"), where.replace("status <>", "Status <>"), "customer")
    state = as_renamed(now, landed(before))
    assert state is not None
    assert state.terms.where == "status <> 'status'"


@pytest.mark.parametrize(
    "now",
    [
        called(NUMBERED, customer="status", status="customer"),
        identified(
            called(UPSERT, customer="buyer", status="customer"),
            id="7.1",
            buyer="7.2",
            customer="7.9",
            updated_at="7.4",
        ),
    ],
    ids=["exchanged", "taken by a new one"],
)
@pytest.mark.parametrize("keeps", ["mask", "where"])
def test_a_condition_and_a_mask_are_of_the_columns_that_they_were_of_and_not_of_others_with_their_names(
    now: TableSpec, keeps: str
) -> None:
    def on_terms(spec: TableSpec) -> TableSpec:
        if keeps == "mask":
            return with_masks(spec, (("customer", Mask.REDACT),))
        return replace(spec, where=parse_where("customer <> 'x'"))

    state = as_renamed(on_terms(now), landed(on_terms(NUMBERED)))
    assert state is not None
    assert not state.terms.same(on_terms(now).terms)


def test_a_table_that_is_read_as_a_whole_lands_no_masked_value_under_another_name() -> None:
    whole = replace(NUMBERED, strategy=Strategy.FULL_REFRESH, cursor=None)
    exchanged = called(whole, customer="status", status="customer")
    world = opened()
    world.sync(with_masks(whole, (("customer", Mask.REDACT),)))
    with pytest.raises(TermsChanged, match=r"\(masks status: redact -> customer: redact\)"):
        world.sync(with_masks(exchanged, (("customer", Mask.REDACT),)))
    # Which is not due.
    assert world.sync(with_masks(exchanged, (("status", Mask.REDACT),))).status is Status.IDLE


def test_another_column_under_the_keys_name_in_other_letters_is_no_rename() -> None:
    assert renames_of(identified(called(UPSERT, id="ID"), ID="7.9"), landed()) == ()


@pytest.mark.parametrize(
    "now",
    [
        identified(called(UPSERT, status="state"), state="8.3"),
        identified(called(UPSERT, status="state")),
        without(called(NUMBERED, customer="status"), "7.3"),
    ],
    ids=["of another table", "by a source that tells none", "taken from a column that is gone"],
)
def test_where_more_than_a_name_may_have_changed_nothing_is_renamed_that_keeps_old_values_under_a_wrong_one(
    now: TableSpec,
) -> None:
    assert renames_of(now, landed()) == ()


def test_names_that_are_exchanged_or_handed_on_are_followed_at_once() -> None:
    exchanged = called(NUMBERED, customer="status", status="customer")
    assert set(renames_of(exchanged, landed())) == {Rename("customer", "status"), Rename("status", "customer")}
    handed_on = called(NUMBERED, customer="status", status="state")
    assert set(renames_of(handed_on, landed())) == {Rename("customer", "status"), Rename("status", "state")}
    for now in (exchanged, handed_on):
        state = as_renamed(now, landed())
        assert state is not None
        assert dict(state.columns) == {each.name: each.identity for each in now.columns}
        assert renames_of(now, state) == ()


def test_the_configuration_tells_what_a_source_cannot() -> None:
    plain = landed(UPSERT)
    now = replace(called(UPSERT, status="state"), renamed=(("status", "state"),))
    assert renames_of(now, plain) == (Rename("status", "state", by="rename"),)
    assert renames_of(now, as_renamed(now, plain)) == ()


def test_what_landed_knows_key_cursor_and_columns_by_their_new_names() -> None:
    now = called(NUMBERED, id="number", status="state")
    state = as_renamed(now, landed())
    assert state is not None
    assert (state.terms.key, state.terms.cursor) == (("number",), "updated_at:timestamp")
    assert dict(state.columns) == {"number": "7.1", "customer": "7.2", "state": "7.3", "updated_at": "7.4"}


def test_a_rename_alone_is_a_commit_without_rows_and_is_told_once() -> None:
    world, now = opened(), called(NUMBERED, status="state")
    world.sync(NUMBERED)
    rename(world, "status", "state")
    report = world.sync(now)
    assert report.status is Status.LANDED
    assert [str(change) for change in report.schema_changes] == [
        "state: renamed (status -> state), by schema_changes: evolve"
    ]
    assert_equal(world)
    assert world.sync(now).status is Status.IDLE
    order_as_now(world)
    assert world.sync(now).schema_changes == ()
    assert_equal(world)


def test_a_frozen_table_refuses_it_and_a_full_refresh_has_no_use_for_it() -> None:
    world, now = opened(), replace(called(NUMBERED, status="state"), evolve=False)
    world.sync(NUMBERED)
    rename(world, "status", "state")
    before = world.rows(ORDERS)
    with pytest.raises(SchemaChanged, match=r"now calls the column 'status' 'state'.*rename it back"):
        world.sync(now)
    assert world.rows(ORDERS) == before
    world.sync(replace(now, evolve=True), mode=Mode.FULL_REFRESH)
    assert_equal(world)


def order_as_now(world: World) -> None:
    order(world.database, "mary", world.database.stamp())
    rename(world, "status", "state")
    world.database.tick(60)


@pytest.mark.parametrize(
    ("strategy", "history"),
    [(Strategy.UPSERT, History.NONE), (Strategy.APPEND, History.NONE), (Strategy.UPSERT, History.SCD2)],
    ids=["upsert", "append", "with a history"],
)
def test_a_rename_killed_at_any_moment_is_made_good_by_the_next_sync(strategy: Strategy, history: History) -> None:
    spec = identified(orders(strategy, history=history), id="7.1", customer="7.2", status="7.3", updated_at="7.4")
    now = called(spec, status="customer", customer="status")
    for number in itertools.count():
        world = opened()
        world.sync(spec)
        rename(world, "status", "state")
        rename(world, "customer", "status")
        rename(world, "state", "customer")
        process = world.process()
        process.kill_at = number
        try:
            world.sync(now, process=process)
        except Killed:
            moment = f"killed {process.moments[-1]}, number {number}"
        else:
            assert number > 15
            return
        world.sync(now)
        assert_equal(world)
        state = world.checkpoints.position(ORDERS).state
        assert state is not None
        assert dict(state.columns) == {"id": "7.1", "customer": "7.3", "status": "7.2", "updated_at": "7.4"}, moment
        assert (world.memory.leases, world.checkpoints.position(ORDERS).open) == ({}, None), moment
        sequences = world.lake.sequences(ORDERS)
        assert sequences == sorted(set(sequences)), moment
        if history is not History.NONE:
            assert world.lake.differing_versions(now) == FaultyKeys(0), moment


def test_a_run_that_sleeps_before_its_rename_lands_it_no_more_once_another_run_was_there() -> None:
    world = opened()
    world.sync(NUMBERED)
    rename(world, "status", "state")
    sleeper = world.asleep(called(NUMBERED, status="state"), "before commit")
    assert sleeper.is_asleep
    world.pass_time(120)
    rename(world, "state", "status")
    world.sync(NUMBERED)
    sleeper.wake()
    assert isinstance(sleeper.error, CommitMissing)
    assert_equal(world)


def late(strategy: Strategy) -> tuple[World, TableSpec]:
    """The source calls `status` `state`, a sync has landed without a word of it, and now the configuration has one."""
    world, before = opened(), orders(strategy)
    world.sync(before)
    rename(world, "status", "state")
    now = called(before, status="state")
    order_as_now(world)
    world.sync(now)
    return world, replace(now, renamed=(("status", "state"),))


def test_an_entry_that_comes_after_a_sync_without_it_is_told_to_be_of_no_use_where_values_were_read() -> None:
    world, now = late(Strategy.UPSERT)
    before = world.rows(ORDERS)
    report = world.sync(now)
    (told,) = report.warnings
    assert told == (
        "`rename` says that 'status' is now 'state', and an earlier sync has taken 'state' for a new column: its values are read for every row "
        "that the source has, so remove the entry; 'status' stays with what it held until everything is read again with "
        "`incremental-assets sync --select shop.public.orders --full-refresh`"
    )
    assert world.rows(ORDERS) == before
    assert world.sync(now, mode=Mode.FULL_REFRESH).warnings == world.sync(now).warnings == ()


def test_of_an_append_it_is_told_with_the_way_back() -> None:
    world, now = late(Strategy.APPEND)
    (told,) = world.sync(now).warnings
    assert "rows that landed before have their values in 'status' and NULL in 'state'" in told
    assert "`incremental-assets rollback --select shop.public.orders --to-run RUN_ID --yes`" in told


def test_an_entry_with_an_old_name_that_never_landed_stops_the_table_before_the_new_one_comes() -> None:
    world = opened()
    world.sync(UPSERT)
    rename(world, "status", "state")
    before = world.rows(ORDERS)
    with pytest.raises(
        SchemaChanged,
        match=r"'statsu' is now 'state', and the copy has neither; it has id, customer, status, updated_at: correct",
    ):
        world.sync(replace(called(UPSERT, status="state"), renamed=(("statsu", "state"),)))
    assert world.rows(ORDERS) == before
