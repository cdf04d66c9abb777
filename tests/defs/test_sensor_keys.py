"""The keys of integer grids that the sensor asks for."""

from __future__ import annotations

from pathlib import Path

from dagster import DagsterInstance, RunRequest

from tests.defs.studio import opened
from tests.defs.watch import RANGE, Watch, announced
from tests.scenario import order


def test_keys_of_integers_appear_as_the_table_grows_without_gaps(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = opened(
        tmp_path,
        instance,
        "- {table: public.orders, cursor: {column: id, type: integer}, strategy: append, partitions: {size: 100}}",
        "unlisted: ignore\n",
    )
    watch, name = Watch(studio), "shop.public.orders by 100"
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z", number=150)
    order(studio.world.database, "first", "2024-01-05T00:00:00Z", number=37)
    first = watch.tick()
    (request,) = first.dynamic_partitions_requests or []
    keys = [f"{lower:019d}-{lower + 100:019d}" for lower in (0, 100)]
    assert request.partition_keys == keys
    assert [run.tags[RANGE[1]] for run in first.run_requests or [] if isinstance(run, RunRequest)] == [keys[1]]

    instance.add_dynamic_partitions(name, keys)
    studio.world.pass_time(10)
    assert studio.run(*keys, mode="sync").success
    order(studio.world.database, "alan", "2024-01-05T00:00:00Z", number=420)
    later = watch.tick()
    (request,) = later.dynamic_partitions_requests or []
    assert request.partition_keys == [f"{lower:019d}-{lower + 100:019d}" for lower in (200, 300, 400)]
    assert [announced(run)[0] for run in later.run_requests or [] if isinstance(run, RunRequest)] == [keys[1]]


def test_a_table_without_a_row_is_asked_for_and_its_grid_begins_with_the_first_one(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    studio = opened(
        tmp_path,
        instance,
        "- {table: public.orders, cursor: {column: id, type: integer}, strategy: append, partitions: {size: 100}}",
        "unlisted: ignore\n",
    )
    watch, name, empty = Watch(studio), "shop.public.orders by 100", f"{0:019d}-{100:019d}"
    (request,) = watch.tick().dynamic_partitions_requests or []
    assert request.partition_keys == [empty]
    instance.add_dynamic_partitions(name, [empty])
    assert studio.run(empty, mode="sync").success

    studio.world.pass_time(10)
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z", number=7 * 10**17 + 5)
    later = watch.tick()
    (request,) = later.dynamic_partitions_requests or []
    keys = [f"{7 * 10**17:019d}-{7 * 10**17 + 100:019d}"]
    assert (request.partition_keys, instance.get_dynamic_partitions(name)) == (keys, [])
    assert [announced(run)[0] for run in later.run_requests or [] if isinstance(run, RunRequest)] == keys


def test_the_keys_of_a_size_that_was_changed_are_asked_for_beside_the_older_ones_of_their_grid(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    table = "- {table: public.orders, cursor: {column: id, type: integer}, strategy: append, partitions: {size: %d}}"
    old = opened(tmp_path, instance, table % 1000, "unlisted: ignore\n")
    order(old.world.database, "ada", "2024-01-05T00:00:00Z", number=950)
    (request,) = Watch(old).tick().dynamic_partitions_requests or []
    instance.add_dynamic_partitions("shop.public.orders by 1000", list(request.partition_keys))
    old.world.pass_time(10)
    assert old.run(*request.partition_keys, mode="sync").success

    new = opened(tmp_path, instance, table % 300, "unlisted: ignore\n")
    new.world = new.runtime.world = old.world
    order(new.world.database, "alan", "2024-01-05T00:00:00Z", number=1250)
    tick = Watch(new).tick()
    (request,) = tick.dynamic_partitions_requests or []
    keys = [f"{lower:019d}-{lower + 300:019d}" for lower in (0, 300, 600, 900, 1200)]
    assert (request.partitions_def_name, list(request.partition_keys)) == ("shop.public.orders by 300", keys)
    assert [announced(run) for run in tick.run_requests or [] if isinstance(run, RunRequest)] == [(keys[3], keys[4])]
