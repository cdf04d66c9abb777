"""Columns that the source has renamed, on a real database and lake: values stay under the new name, and nothing is written again for it."""

from __future__ import annotations

from typing import NoReturn

import pytest

from incremental_assets.adapters.delta.history import writing
from incremental_assets.core.errors import Refused
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model.compaction import How
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.adapters.copies import by_delta_rs, log_of, told
from tests.adapters.tasks.kernel import kernel_rows
from tests.adapters.twenty_orders import BY_TIME, Open
from tests.conformance.stand import Stand

APPEND = "{table: public.orders, cursor: {column: at, type: timestamp}}"
HOSTILE = "o`ne; {two}, (thrée)=$x"
SHOWN = "SELECT id, remark, rate, at FROM orders"


def renames(*names: tuple[str, str]) -> list[str]:
    return [f'ALTER TABLE orders RENAME COLUMN "{before}" TO "{after}"' for before, after in names]


def renamed(desk: Stand) -> None:
    desk.execute("ALTER TABLE orders RENAME COLUMN note TO remark")


@pytest.mark.parametrize("entry", [BY_TIME, APPEND], ids=["upsert", "append"])
def test_values_that_landed_stay_under_the_new_name_though_no_row_has_moved(opened: Open, entry: str) -> None:
    desk = opened(entry)
    renamed(desk)
    before = log_of(desk)
    report = desk.sync()["orders"]
    after = log_of(desk)
    assert told(report) == ["remark: renamed (note -> remark), by schema_changes: evolve"]
    assert (report.status, report.rows.read) == (Status.LANDED, 0)
    assert (after.version, after.layout()) == (before.version + 1, before.layout())
    assert by_delta_rs(desk, "SELECT id, remark FROM t") == desk.source("SELECT id, remark FROM orders")
    desk.assert_equal("orders", SHOWN)
    assert (desk.sync()["orders"].status, desk.check("orders")) == (Status.IDLE, 0)
    desk.assert_tidy("orders")


@pytest.mark.acceptance
def test_a_key_that_is_renamed_by_case_alone_is_renamed_in_the_copy_and_rows_go_on_to_land(opened: Open) -> None:
    desk = opened(BY_TIME)
    desk.execute(*renames(("id", "ID")))
    report = desk.land()["orders"]
    assert told(report) == ["ID: renamed (id -> ID), by schema_changes: evolve"]
    desk.execute("UPDATE orders SET note = 'moved', at = clock_timestamp() WHERE \"ID\" IN (3, 20)")
    second = desk.land()["orders"]
    assert (second.rows.updated, second.rows.inserted) == (2, 0)
    desk.assert_equal("orders", 'SELECT "ID", note, rate, at FROM orders')
    assert desk.check("orders") == 0


@pytest.mark.acceptance
@pytest.mark.parametrize("entry", [BY_TIME, APPEND], ids=["upsert", "append"])
def test_ticks_after_it_land_through_our_own_commit_as_before(opened: Open, entry: str) -> None:
    desk = opened(entry)
    renamed(desk)
    desk.execute("INSERT INTO orders VALUES (21, 'first', 2)")
    first = desk.land()["orders"]
    assert (told(first), first.rows.inserted) == (["remark: renamed (note -> remark), by schema_changes: evolve"], 1)
    desk.execute("INSERT INTO orders VALUES (22, 'second', 2)")
    if entry == BY_TIME:
        desk.execute("UPDATE orders SET remark = 'moved', at = clock_timestamp() WHERE id IN (3, 20)")
        desk.execute("DELETE FROM orders WHERE id = 4")
        config = desk.shop.config
        config.write_text(config.read_text().replace(BY_TIME, f"{BY_TIME[:-1]}, deletes: {{mode: diff, every: 0s}}}}"))
    second = desk.land()["orders"]
    assert second.schema_changes == ()
    engines = [commit.engine for commit in log_of(desk).commits(-1)]
    assert all(engine.startswith("incremental-assets/") for engine in engines), engines
    desk.assert_equal("orders", SHOWN)
    assert by_delta_rs(desk, "SELECT id, remark, rate FROM t") == desk.source("SELECT id, remark, rate FROM orders")
    assert desk.check("orders") == 0


def test_delta_kernel_reads_old_files_and_new_ones_under_the_new_name(opened: Open) -> None:
    desk = opened(BY_TIME)
    renamed(desk)
    desk.execute("UPDATE orders SET remark = 'moved', at = clock_timestamp() WHERE id = 7")
    desk.land()
    read = kernel_rows(desk.spark, str(desk.shop.lake("orders")), ("getInt", "getString"))
    assert read == sorted(desk.source("SELECT id, remark FROM orders"), key=str)


@pytest.mark.acceptance
def test_a_column_that_comes_after_it_is_filled_as_ever(opened: Open) -> None:
    desk = opened(BY_TIME)
    renamed(desk)
    desk.execute("ALTER TABLE orders ADD COLUMN colour text DEFAULT 'red'", "INSERT INTO orders VALUES (21, 'more', 2)")
    desk.land()
    desk.execute("UPDATE orders SET remark = 'late', at = clock_timestamp() WHERE id = 1")
    desk.land()
    desk.assert_equal("orders", "SELECT id, remark, rate, at, colour FROM orders")
    assert by_delta_rs(desk, "SELECT id, remark, colour FROM t") == desk.source("SELECT id, remark, colour FROM orders")


@pytest.mark.acceptance
def test_names_can_change_again_and_go_back(opened: Open) -> None:
    desk = opened(BY_TIME)
    renamed(desk)
    desk.land()
    desk.execute("ALTER TABLE orders RENAME COLUMN remark TO memo", "ALTER TABLE orders RENAME COLUMN rate TO price")
    assert told(desk.land()["orders"]) == [
        "memo: renamed (remark -> memo), by schema_changes: evolve",
        "price: renamed (rate -> price), by schema_changes: evolve",
    ]
    desk.execute("ALTER TABLE orders RENAME COLUMN memo TO note")
    desk.execute("UPDATE orders SET note = 'moved', at = clock_timestamp() WHERE id = 7")
    desk.land()
    desk.assert_equal("orders", "SELECT id, note, price, at FROM orders")
    assert desk.check("orders") == 0


@pytest.mark.acceptance
def test_names_that_are_exchanged_and_handed_on_are_one_commit_beside_a_history(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, history: scd2}}")
    desk.execute(*(f"ALTER TABLE orders ADD COLUMN {name} text DEFAULT '{name}'" for name in ("a", "b", "c", "d")))
    desk.land()
    before = {name: log_of(desk, name).version for name in ("orders", "orders__history")}
    desk.execute(*renames(("a", "t"), ("b", "a"), ("t", "b"), ("d", HOSTILE), ("c", "d")))
    report = desk.sync()["orders"]
    assert sorted(told(report)) == [
        "a: renamed (b -> a), by schema_changes: evolve",
        "b: renamed (a -> b), by schema_changes: evolve",
        "d: renamed (c -> d), by schema_changes: evolve",
        f"{HOSTILE}: renamed (d -> {HOSTILE}), by schema_changes: evolve",
    ]
    assert {name: log_of(desk, name).version for name in before} == {name: 1 + at for name, at in before.items()}
    desk.execute("UPDATE orders SET a = 'new', at = clock_timestamp() WHERE id = 5")
    desk.land()
    shown, quoted = desk.source(f'SELECT id, a, b, d, "{HOSTILE}" FROM orders'), HOSTILE.replace("`", "``")
    assert desk.copy("orders", "id", "a", "b", "d", HOSTILE) == shown
    assert by_delta_rs(desk, f'SELECT id, a, b, d, "{HOSTILE}" FROM t') == shown
    table = f"delta.`{desk.shop.lake('orders__history')}`"
    rows = desk.spark.sql(
        f"SELECT a, b, d, `{quoted}` FROM {table} WHERE id = 5 ORDER BY _valid_from, _valid_to IS NULL"
    )
    assert [tuple(row) for row in rows.collect()][-2:] == [("b", "a", "c", "d"), ("new", "a", "c", "d")]
    assert (desk.check("orders"), desk.sync()["orders"].status) == (0, Status.IDLE)
    with desk.runtime() as runtime:
        assert runtime.ports("shop").historian.differing_versions(desk.spec("orders")) == FaultyKeys(0)


@pytest.mark.acceptance
def test_a_history_exchanges_names_once_though_a_run_died_between_its_names_and_its_rows(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, kept = opened(f"{BY_TIME[:-1]}, history: scd2}}"), ", history: scd2"
    desk.execute(*(f"ALTER TABLE orders ADD COLUMN {name} text DEFAULT '{name}'" for name in ("a", "b")))
    desk.land()
    config = desk.shop.config
    configured = config.read_text()
    config.write_text(configured.replace(kept, ""))
    desk.execute(*renames(("a", "t"), ("b", "a"), ("t", "b")))
    desk.execute("UPDATE orders SET a = 'new', at = clock_timestamp() WHERE id = 5")
    desk.land()
    config.write_text(configured)
    with monkeypatch.context() as dying:
        dying.setattr(writing, "made", died)
        assert "died here" in str(desk.sync()["orders"].error)
    desk.land()
    versions = desk.copy("orders__history", "id", "a", "b", "_is_current")
    assert {row[1:3] for row in versions if row[3]} == {("b", "a"), ("new", "a")}
    with desk.runtime() as runtime:
        assert runtime.ports("shop").historian.differing_versions(desk.spec("orders")) == FaultyKeys(0)


def died(*_: object) -> NoReturn:
    raise Refused("it died here")


@pytest.mark.acceptance
def test_key_and_cursor_are_renamed_once_the_configuration_names_them_so(opened: Open) -> None:
    desk = opened(BY_TIME)
    desk.execute("ALTER TABLE orders RENAME COLUMN id TO number", "ALTER TABLE orders RENAME COLUMN at TO changed_at")
    with desk.runtime() as runtime:
        (problem,) = runtime.specs("shop").problems
    assert "column 'at' does not exist" in str(problem.error)
    assert "changed_at" in str(problem.error)
    config = desk.shop.config
    config.write_text(config.read_text().replace("column: at", "column: changed_at"))
    desk.execute("UPDATE orders SET note = 'moved', changed_at = clock_timestamp() WHERE number = 2")
    report = desk.land()["orders"]
    assert (len(report.schema_changes), report.rows.updated) == (2, 1)
    desk.assert_equal("orders", "SELECT number, note, rate, changed_at FROM orders")
    kept = log_of(desk).properties["delta.dataSkippingStatsColumns"]
    assert {"`number`", "`changed_at`"} <= set(kept.split(","))
    assert "`at`" not in kept
    assert desk.check("orders") == 0


def test_a_frozen_table_stops_in_one_sentence(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, schema_changes: freeze}}")
    renamed(desk)
    before = desk.versions("orders")
    report = desk.sync()["orders"]
    assert report.error == (
        "shop.public.orders: the source now calls the column 'note' 'remark', and `schema_changes: freeze` keeps the names that landed: "
        "rename it back, or set `schema_changes: evolve` for this table"
    )
    assert desk.versions("orders") == before
    desk.execute("ALTER TABLE orders RENAME COLUMN remark TO note")
    assert desk.sync()["orders"].status is Status.IDLE


@pytest.mark.acceptance
@pytest.mark.parametrize("policy", ["widen", "discard"])
def test_a_renamed_column_is_not_a_new_one(opened: Open, policy: str) -> None:
    desk = opened(f"{BY_TIME[:-1]}, schema_changes: {policy}}}")
    renamed(desk)
    desk.execute("INSERT INTO orders VALUES (21, 'more', 2)")
    assert told(desk.land()["orders"]) == [f"remark: renamed (note -> remark), by schema_changes: {policy}"]
    desk.assert_equal("orders", SHOWN)


@pytest.mark.acceptance
def test_a_copy_that_allows_no_commit_of_ours_is_left_as_it_is_until_everything_is_read_again(opened: Open) -> None:
    desk = opened(BY_TIME)
    stamped(desk, "orders")
    renamed(desk)
    desk.execute("INSERT INTO orders VALUES (21, 'more', 2)")
    before = log_of(desk).version
    assert desk.sync()["orders"].error == (
        f"shop.public.orders: the source now calls the column 'note' 'remark', and the table at {desk.shop.lake('orders')} cannot be given that name, "
        "as the table has inCommitTimestamp: rename it back in the source, or read everything again with "
        "`incremental-assets sync --select shop.public.orders --full-refresh`"
    )
    assert log_of(desk).version == before
    desk.land(mode=Mode.FULL_REFRESH)
    desk.assert_equal("orders", SHOWN)
    assert (desk.check("orders"), desk.sync()["orders"].status) == (0, Status.IDLE)


@pytest.mark.acceptance
def test_a_history_that_allows_none_follows_once_a_person_has_renamed_its_column(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, history: scd2}}")
    stamped(desk, "orders__history")
    renamed(desk)
    desk.execute("INSERT INTO orders VALUES (21, 'more', 2)")
    error = str(desk.sync()["orders"].error)
    assert error == desk.sync()["orders"].error
    for statement in error.partition("have Spark do ")[2].removesuffix(", and sync again").split("; "):
        desk.spark.sql(statement)
    desk.land()
    desk.assert_equal("orders", SHOWN)
    assert_followed(desk)
    assert (desk.check("orders"), desk.sync()["orders"].status) == (0, Status.IDLE)


def stamped(desk: Stand, name: str) -> None:
    """By another writer, with a feature that we do not write."""
    table = f"delta.`{desk.shop.lake(name)}`"
    desk.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")


@pytest.mark.acceptance
def test_a_full_refresh_writes_the_names_anew(opened: Open) -> None:
    desk = opened(BY_TIME)
    renamed(desk)
    desk.land()
    desk.execute("ALTER TABLE orders RENAME COLUMN remark TO memo")
    desk.land(mode=Mode.FULL_REFRESH)
    desk.execute("UPDATE orders SET memo = 'moved', at = clock_timestamp() WHERE id = 7")
    desk.land()
    desk.assert_equal("orders", "SELECT id, memo, rate, at FROM orders")


@pytest.mark.acceptance
def test_a_history_has_its_versions_under_the_new_name(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, history: scd2}}")
    desk.execute("UPDATE orders SET note = 'second', at = clock_timestamp() WHERE id = 5")
    desk.land()
    renamed(desk)
    before = log_of(desk, "orders__history").version
    desk.land()
    assert_followed(desk)
    desk.execute("UPDATE orders SET remark = 'third', at = clock_timestamp() WHERE id = 5")
    desk.land()
    versions = desk.copy("orders__history", "id", "remark", "_is_current")
    assert [row for row in versions if row[0] == 5] == [(5, "old", False), (5, "second", False), (5, "third", True)]
    assert by_delta_rs(desk, "SELECT id, remark FROM t", "orders__history") == [row[:2] for row in versions]
    assert_followed(desk)
    commits = log_of(desk, "orders__history").commits(before)
    assert [commit.engine.split("/")[0] for commit in commits] == ["incremental-assets", "incremental-assets"]


@pytest.mark.acceptance
def test_a_rollback_goes_back_behind_it_and_the_next_sync_renames_again(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, history: scd2}}")
    run_id = desk.events("orders")[-1].run_id
    renamed(desk)
    desk.execute("UPDATE orders SET remark = 'moved', at = clock_timestamp() WHERE id = 5")
    desk.land()
    with desk.runtime() as runtime:
        roll_back(desk.spec("orders"), run_id, "back", runtime.ports("shop"))
    assert (5, "old") in desk.copy("orders", "id", "note")
    assert ("note" in names_of(desk, "orders__history"), "remark" in names_of(desk, "orders__history")) == (True, False)
    assert told(desk.land()["orders"]) == ["remark: renamed (note -> remark), by schema_changes: evolve"]
    desk.assert_equal("orders", SHOWN)
    assert by_delta_rs(desk, "SELECT id, remark FROM t") == desk.source("SELECT id, remark FROM orders")
    assert_followed(desk)


@pytest.mark.acceptance
def test_files_are_put_together_and_a_quarantine_goes_on(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, contract: {{note: {{isin: [old, new]}}}}}}")
    desk.execute("UPDATE orders SET note = 'odd', at = clock_timestamp() WHERE id = 5")
    desk.land()
    renamed(desk)
    config = desk.shop.config
    config.write_text(config.read_text().replace("note: {isin", "remark: {isin"))
    desk.execute("UPDATE orders SET remark = 'new', at = clock_timestamp() WHERE id = 5")
    desk.execute("UPDATE orders SET remark = 'odd', at = clock_timestamp() WHERE id = 6")
    desk.land()
    with desk.runtime() as runtime:
        ports = runtime.ports("shop")
        held = ports.quarantine.held(desk.spec("orders"))
        state = ports.checkpoints.position(desk.spec("orders").id).state
        assert state is not None
        ports.compactor.compact(desk.spec("orders"), How.GATHER, "upkeep", state)
    assert held is not None
    assert held.rows == 1
    rows = [row for row in desk.source("SELECT id, remark FROM orders") if row[0] != 6]
    assert [row for row in desk.copy("orders", "id", "remark") if row[0] != 6] == rows
    assert [row for row in by_delta_rs(desk, "SELECT id, remark FROM t") if row[0] != 6] == rows
    desk.execute("UPDATE orders SET remark = 'old', at = clock_timestamp() WHERE id = 6")
    desk.land()
    desk.assert_equal("orders", SHOWN)


@pytest.mark.acceptance
def test_the_configuration_names_it_where_the_source_is_not_known_to_have_told(opened: Open) -> None:
    desk = opened(BY_TIME)
    latest = desk.settled_at("orders")
    desk.reset("orders", latest)
    renamed(desk)
    config = desk.shop.config
    config.write_text(config.read_text().replace(BY_TIME, f"{BY_TIME[:-1]}, rename: {{note: remark}}}}"))
    assert told(desk.land()["orders"]) == ["remark: renamed (note -> remark), by rename"]
    desk.assert_equal("orders", SHOWN)
    assert told(desk.sync()["orders"]) == []


def names_of(desk: Stand, name: str) -> tuple[str, ...]:
    return tuple(column.name for column in log_of(desk, name).columns())


def assert_followed(desk: Stand) -> None:
    """The history shows the copy, under the copy's names."""
    with desk.runtime() as runtime:
        spec, historian = desk.spec("orders"), runtime.ports("shop").historian
        assert historian.behind(spec) is None
        assert historian.differing_versions(spec) == historian.overlapping_versions(spec) == FaultyKeys(0)
    assert [name for name in names_of(desk, "orders__history") if name in ("note", "remark")] == ["remark"]


def test_a_row_that_its_contract_holds_waits_under_the_new_name_of_its_key(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, contract: {{note: {{isin: [old, new]}}}}}}")
    desk.execute("UPDATE orders SET note = 'odd', at = clock_timestamp() WHERE id = 5")
    desk.land()
    desk.execute(*renames(("id", "number")))
    desk.execute("UPDATE orders SET note = 'new', at = clock_timestamp() WHERE number = 6")
    desk.land()
    with desk.runtime() as runtime:
        held = runtime.ports("shop").quarantine.held(desk.spec("orders"))
    assert held is not None
    assert held.rows == 1
    assert desk.check("orders") == 0
    desk.execute("UPDATE orders SET note = 'new', at = clock_timestamp() WHERE number = 5")
    desk.land()
    desk.assert_equal("orders", "SELECT number, note, rate, at FROM orders")
