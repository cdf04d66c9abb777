"""Grids of the core as Dagster's partitions."""

from __future__ import annotations

from dataclasses import dataclass

from dagster import (
    DailyPartitionsDefinition,
    DynamicPartitionsDefinition,
    HourlyPartitionsDefinition,
    MonthlyPartitionsDefinition,
    PartitionsDefinition,
    StaticPartitionsDefinition,
    WeeklyPartitionsDefinition,
)

from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.model.partition import CURRENT, Every, Grid, IntegerGrid, TimeGrid
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
    """The name under which Dagster keeps the keys of an integer grid: each size has its own, since it takes a range of keys in the order of their arrival."""

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
