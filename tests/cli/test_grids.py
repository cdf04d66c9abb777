"""`partitions: {size: …}` of a table that has landed is changed, or differs between two projects that share Dagster's home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call, Outside
from tests.fakes import World
from tests.scenario import ORDERS, order, shop

CONFIG = """\
lake: ./lake
checkpoints: sqlite:///{checkpoints}.db
sources:
  shop:
    dialect: postgresql
    host: localhost
    database: shop
    user: reader
    password: {{env: SHOP_PASSWORD}}
    unlisted: ignore
    tables:
      - table: public.orders
        cursor: {{column: id, type: integer}}
        strategy: append
        partitions: {{size: {size}}}
"""


def key(lower: int, size: int) -> str:
    return f"{lower:019d}-{lower + size:019d}"


def grid(config: Path, size: int, checkpoints: str = "checkpoints") -> None:
    config.write_text(CONFIG.format(size=size, checkpoints=checkpoints))


def sold(outside: Outside, *numbers: int) -> None:
    database = outside.world.database
    for number in numbers:
        order(database, "ada", database.stamp(), number=number)
    # Any number below this look's has been given out.
    database.tick(600)


def announced(outside: Outside) -> set[str]:
    from dagster import AssetKey, DagsterInstance

    with DagsterInstance.get() as instance:
        return set(instance.get_materialized_partitions(AssetKey(["shop", "public", "orders"])))


def offered(name: str) -> list[str]:
    from dagster import DagsterInstance

    with DagsterInstance.get() as instance:
        return list(instance.get_dynamic_partitions(name))


@pytest.mark.parametrize("size", [100, 10000, 300], ids=["smaller", "larger", "neither divides the other"])
def test_a_size_that_is_changed_lands_what_comes_after_it_under_keys_of_the_new_grid(
    size: int, call: Call, outside: Outside, config: Path
) -> None:
    grid(config, 1000)
    sold(outside, 1, 950)
    assert call("sync").code == 0
    sold(outside, 1010)
    grid(config, size)

    plan = call("plan")
    moved = call("sync", "--json")
    idle = call("sync")

    assert (plan.code, moved.code, idle.code) == (0, 0, 0), moved.out
    assert moved.tables["public.orders"]["rows"]["inserted"] == 1
    assert {row["id"] for row in outside.world.lake.tables[ORDERS].rows} == {1, 950, 1010}
    newest = 1010 // size * size
    assert key(newest, size) in announced(outside)


def test_every_window_of_the_new_grid_can_be_read_again(call: Call, outside: Outside, config: Path) -> None:
    grid(config, 1000)
    sold(outside, 1, 950)
    assert call("sync").code == 0
    grid(config, 100)
    sold(outside, 1010)
    assert call("sync").code == 0

    again = call("backfill", "--select", "public.orders", "--from", "0", "--to", "1000")

    assert again.code == 0
    assert announced(outside) >= {key(lower, 100) for lower in range(0, 1000, 100)}


def test_a_size_that_is_changed_back_finds_its_keys_again(call: Call, outside: Outside, config: Path) -> None:
    for size, number in ((1000, 1), (100, 1010), (1000, 2020), (100, 3030)):
        grid(config, size)
        sold(outside, number)
        assert call("sync").code == 0
    assert {key(3000, 100), key(2000, 1000)} <= announced(outside)
    assert call("backfill", "--select", "public.orders", "--from", "0").code == 0


def test_two_projects_with_one_source_and_one_home_each_keep_their_own_keys(
    call: Call, outside: Outside, config: Path
) -> None:
    worlds = {1000: outside.world, 100: World(shop())}
    for number in (1, 1010, 2020):
        for size, world in worlds.items():
            outside.world = world
            grid(config, size, f"of_{size}")
            sold(outside, number)
            said = call("sync", "--json")
            assert (said.code, said.tables["public.orders"]["rows"]["inserted"]) == (0, 1)


def test_a_window_before_the_first_row_can_be_read_again(call: Call, outside: Outside, config: Path) -> None:
    grid(config, 100)
    sold(outside, 950, 1010)
    assert call("sync").code == 0
    sold(outside, 5)

    again = call("backfill", "--select", "public.orders", "--from", "0", "--to", "1000", "--json")

    assert (again.code, again.tables["public.orders"]["rows"]["read"]) == (0, 2)


def test_a_backfill_leaves_the_keys_of_a_run_that_holds_the_source_as_they_are(
    call: Call, outside: Outside, config: Path
) -> None:
    from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

    from incremental_assets.cli.orphaned_runs import process_tag
    from incremental_assets.defs.names import pool

    grid(config, 100)
    sold(outside, 950, 1010)
    assert call("sync").code == 0
    sold(outside, 5)
    known = offered("shop.public.orders by 100")
    with DagsterInstance.get() as instance:
        run = instance.add_run(DagsterRun(job_name="sync", status=DagsterRunStatus.STARTED, tags=process_tag()))
        instance.event_log_storage.set_concurrency_slots(pool("shop"), 1)
        assert instance.event_log_storage.claim_concurrency_slot(pool("shop"), run.run_id, "step").is_claimed

    again = call("backfill", "--select", "public.orders", "--from", "0", "--to", "1000", "--json")

    assert (again.code, again.tables["public.orders"]["status"]) == (4, "busy")
    assert offered("shop.public.orders by 100") == known == [key(900, 100), key(1000, 100)]


def test_a_grid_of_too_many_partitions_is_one_sentence_that_names_the_table_once(
    call: Call, outside: Outside, config: Path
) -> None:
    grid(config, 1)
    sold(outside, *range(1, 10**9, 10**8))
    said = call("sync", "--json")
    error = said.tables["public.orders"]["error"]
    assert (said.code, error.count("shop.public.orders")) == (1, 1)
    assert error.startswith("shop.public.orders: ")
    assert "raise `partitions: {size: …}` to" in error


HIGHEST = 2**63 - 1
"""The last number of 64 bits, which stands for "none" in some tables."""


def test_numbers_far_from_the_others_go_to_partitions_with_open_ends(
    call: Call, outside: Outside, config: Path
) -> None:
    grid(config, 100)
    sold(outside, -(2**63), -1, 1, 250, HIGHEST)

    first = call("sync", "--json")
    covered = call("coverage")
    checked = call("check", "--strict")
    below, last = "below-m0000000000000000100", "from-0000000000000000300"
    again = [
        call("backfill", "--select", "public.orders", "--from", lower, *upper, "--json")
        for lower, upper in (("-9223372036854775808", ("--to", "-100")), ("0", ("--to", "300")), (str(HIGHEST), ()))
    ]

    assert (first.code, first.tables["public.orders"]["rows"]["inserted"]) == (0, 5), first.out
    assert [each.code for each in (covered, checked, *again)] == [0, 0, 0, 0, 0], checked.out
    assert offered("shop.public.orders by 100") == [
        below,
        "m0000000000000000100-0000000000000000000",
        *(key(lower, 100) for lower in (0, 100, 200)),
        last,
    ]
    assert announced(outside) == set(offered("shop.public.orders by 100"))
    assert [each.tables["public.orders"]["rows"]["read"] for each in again] == [1, 2, 1]


def test_a_number_far_from_those_that_have_landed_opens_a_last_partition(
    call: Call, outside: Outside, config: Path
) -> None:
    grid(config, 100)
    sold(outside, 1, 150)
    assert call("sync").code == 0
    before = offered("shop.public.orders by 100")
    sold(outside, 350, HIGHEST)

    second = call("sync", "--json")
    again = call("backfill", "--select", "public.orders", "--from", "0", "--json")

    assert (second.code, second.tables["public.orders"]["rows"]["inserted"]) == (0, 2), second.out
    assert offered("shop.public.orders by 100") == [*before, "from-0000000000000000200"]
    assert (again.code, again.tables["public.orders"]["rows"]["read"]) == (0, 4), again.out
    assert call("coverage").code == 0
