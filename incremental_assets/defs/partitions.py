"""Grids of the core as Dagster's partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dagster import (
    DagsterInstance,
    DailyPartitionsDefinition,
    DynamicPartitionsDefinition,
    HourlyPartitionsDefinition,
    MonthlyPartitionsDefinition,
    PartitionsDefinition,
    StaticPartitionsDefinition,
    WeeklyPartitionsDefinition,
)

from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.model.number_keys import IntegerGrid, integer_bounds, integer_keys, is_open
from incremental_assets.core.model.partition import CURRENT, Every, Grid, TimeGrid
from incremental_assets.defs.names import plain

_OPEN_WINDOW = 1
"""`end_offset`: the hour, day, week or month that is still open is a key too."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to partition, shared by the tables of one op and one job. `name` tells it apart within its source."""

    source: str
    name: str
    grid: Grid | None
    dynamic: str = ""
    """The name under which Dagster keeps the keys of an integer grid, empty for other grids: each size has its own, as a range of keys is one in the order of their arrival."""

    @property
    def op(self) -> str:
        """The op, and with `sync_` before it the job, that syncs these tables."""
        return plain("sync", self.source, self.name)


def scheme_of(source: SourceConfig, terms: TableConfig) -> Scheme:
    """Tables share a scheme if they share a grid; keys of integers are one table's own."""
    grid = terms.partitions
    if grid is None:
        return Scheme(source.name, CURRENT, None)
    if isinstance(grid, TimeGrid):
        return Scheme(source.name, f"{grid.every}_{grid.start:%Y%m%d}", grid)
    return Scheme(source.name, plain(terms.schema, terms.name), grid, dynamic=f"{terms.id(source.name)} by {grid.size}")


def definition(scheme: Scheme) -> PartitionsDefinition:
    """Dagster's own definition, whose keys are spelled as the core spells them."""
    grid = scheme.grid
    if grid is None:
        return StaticPartitionsDefinition([CURRENT])
    if isinstance(grid, IntegerGrid):
        return DynamicPartitionsDefinition(name=scheme.dynamic)
    if grid.every is Every.HOUR:
        return HourlyPartitionsDefinition(f"{grid.start}-00:00", timezone="UTC", end_offset=_OPEN_WINDOW)
    if grid.every is Every.DAY:
        return DailyPartitionsDefinition(str(grid.start), timezone="UTC", end_offset=_OPEN_WINDOW)
    if grid.every is Every.WEEK:
        return WeeklyPartitionsDefinition(str(grid.start), timezone="UTC", end_offset=_OPEN_WINDOW)
    return MonthlyPartitionsDefinition(str(grid.start), timezone="UTC", end_offset=_OPEN_WINDOW)


def offer(instance: DagsterInstance, scheme: Scheme, keys: Sequence[str]) -> None:
    """Add these keys of an integer grid to Dagster's, and those between them and the known ones, ascending; nothing for other grids. Raises TooManyPartitions."""
    grid, name = scheme.grid, scheme.dynamic
    if not isinstance(grid, IntegerGrid):
        return
    # Again after a tick of the sensor that added keys meanwhile: a range of keys is one of their arrival.
    while (known := list(instance.get_dynamic_partitions(name))) != (whole := _spanning(grid, [*known, *keys])):
        if whole[: len(known)] != known:
            # Below the first one all arrive anew. The highest goes first: those that are left are in order and without
            # gaps, from where a tick would go on if this process were killed here.
            for key in reversed(known):
                instance.delete_dynamic_partition(name, key)
        instance.add_dynamic_partitions(name, whole)


def _spanning(grid: IntegerGrid, keys: Sequence[str]) -> list[str]:
    """The keys from the lowest of these to the highest. Where there are open ones, all that the table will ever have are known."""
    if is_open(keys):
        return list(dict.fromkeys(keys))
    ends = [integer_bounds(grid, key) for key in keys]
    return list(integer_keys(grid, min(ends)[0], max(ends)[1] - 1))
