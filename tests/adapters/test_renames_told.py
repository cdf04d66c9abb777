"""Columns that are renamed in databases that cannot tell so: `rename` says it, and each of their servers is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.planning.report import Status
from tests.adapters.copies import by_delta_rs, log_of, told
from tests.conformance.stand import Stand
from tests.conformance.worlds import OTHERS, World, made
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UPSERT = "{table: {s}.orders, cursor: {column: updated_at, type: {c}}, strategy: upsert}"
APPEND = UPSERT.replace("upsert", "append")
RENAMED = "ALTER TABLE orders RENAME COLUMN note TO remark"
TOLD = ["remark: renamed (note -> remark), by rename"]


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.acceptance if name == "mysql" else ()) for name in OTHERS])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    return made(request.param, request, tmp_path)


def opened(world: World, spark: SparkSession, entry: str = UPSERT) -> Stand[World]:
    """Four orders of long ago that have landed as they are configured."""
    world.configure(f"- {entry}")
    world.execute(
        f"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, note varchar(40), rate int, updated_at {world.words.stamp})",
        *(
            f"INSERT INTO orders VALUES ({n}, 'old {n}', {n}, {world.words.at(f'2024-01-0{n} 00:00:00')})"
            for n in range(1, 5)
        ),
    )
    desk = Stand(world, spark)
    desk.land()
    return desk


def tell(desk: Stand[World], renames: str, entry: str = UPSERT) -> None:
    desk.shop.configure(f"- {entry[:-1]}, rename: {{{renames}}}}}")


@pytest.mark.acceptance
@pytest.mark.parametrize("entry", [UPSERT, APPEND], ids=["upsert", "append"])
def test_values_stay_under_the_new_name_and_ticks_go_on(world: World, spark: SparkSession, entry: str) -> None:
    desk = opened(world, spark, entry)
    desk.execute(RENAMED)
    tell(desk, "note: remark", entry)
    before = log_of(desk)
    report = desk.sync()["orders"]
    after = log_of(desk)
    assert (report.status, report.rows.read, told(report)) == (Status.LANDED, 0, TOLD)
    assert (after.version, after.layout()) == (before.version + 1, before.layout())
    desk.execute("INSERT INTO orders (id, remark, rate) VALUES (5, 'new', 5)")
    if entry == UPSERT:
        desk.execute(f"UPDATE orders SET remark = 'moved', updated_at = {world.words.now} WHERE id = 2")
    assert told(desk.land()["orders"]) == []
    assert desk.copy("orders", "id", "remark", "rate") == desk.source("SELECT id, remark, rate FROM orders")
    assert by_delta_rs(desk, "SELECT id, remark, rate FROM t") == desk.source("SELECT id, remark, rate FROM orders")
    assert (desk.check("orders"), told(desk.land()["orders"])) == (0, [])
    desk.assert_tidy("orders")


@pytest.mark.acceptance
def test_key_cursor_and_a_hostile_name_beside_a_history(world: World, spark: SparkSession) -> None:
    entry = f"{UPSERT[:-1]}, history: scd2}}"
    desk = opened(world, spark, entry)
    desk.execute(
        "ALTER TABLE orders RENAME COLUMN id TO number",
        "ALTER TABLE orders RENAME COLUMN updated_at TO changed_at",
        f'ALTER TABLE orders RENAME COLUMN note TO "{HOSTILE}"',
        f"UPDATE orders SET rate = 20, changed_at = {world.words.now} WHERE number = 2",
    )
    tell(desk, f"id: number, updated_at: changed_at, note: {HOSTILE!r}", entry.replace("updated_at", "changed_at"))
    report = desk.land()["orders"]
    assert (len(report.schema_changes), report.rows.updated) == (3, 1)
    assert desk.copy("orders", "number", HOSTILE, "rate") == desk.source(
        f'SELECT number, "{HOSTILE}", rate FROM orders'
    )
    assert desk.copy("orders__history", "number", HOSTILE, "rate", "_is_current") == [
        (1, "old 1", 1, True),
        (2, "old 2", 2, False),
        (2, "old 2", 20, True),
        (3, "old 3", 3, True),
        (4, "old 4", 4, True),
    ]
    assert desk.check("orders") == 0


@pytest.mark.acceptance
def test_an_entry_that_comes_too_late_for_an_upsert_has_nothing_left_to_do(world: World, spark: SparkSession) -> None:
    desk = opened(world, spark)
    desk.execute(RENAMED)
    desk.land()
    # MariaDB's catalogue tells of seconds: until that of the change has passed, the table is compared again.
    assert any(desk.sync()["orders"].status is Status.IDLE for _ in range(50))
    tell(desk, "note: remark")
    version = log_of(desk).version
    report = desk.land()["orders"]
    assert [warning for warning in report.warnings if "so remove the entry" in warning]
    assert (report.status, log_of(desk).version) == (Status.IDLE, version)
    assert desk.copy("orders", "id", "remark") == desk.source("SELECT id, remark FROM orders")


@pytest.mark.acceptance
def test_of_an_append_the_rollback_that_is_told_brings_every_value_under_the_new_name(
    world: World, spark: SparkSession
) -> None:
    desk = opened(world, spark, APPEND)
    before = desk.events("orders")[-1].run_id
    desk.execute(RENAMED, "INSERT INTO orders (id, remark, rate) VALUES (5, 'new', 5)")
    desk.land()
    tell(desk, "note: remark", APPEND)
    assert [warning for warning in desk.land()["orders"].warnings if "rollback --select" in warning]
    assert (1, "old 1", None) in desk.copy("orders", "id", "note", "remark")
    with desk.runtime() as runtime:
        roll_back(desk.spec("orders"), before, "back", runtime.ports("shop"))
    assert told(desk.land()["orders"]) == TOLD
    assert desk.copy("orders", "id", "remark", "rate") == desk.source("SELECT id, remark, rate FROM orders")
    assert desk.land()["orders"].warnings == ()


HOSTILE = "o`ne; {two}, (thrée)=$x"
