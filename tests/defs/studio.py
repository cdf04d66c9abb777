"""A shop whose outside world is fakes, and Dagster around it: the definitions are the real ones."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetSelection,
    DagsterInstance,
    Definitions,
    ExecuteInProcessResult,
    materialize,
)

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.config.load import load
from incremental_assets.core.config.resolve import Resolved, resolve_all
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.ports import Ports
from incremental_assets.defs.assets import sync_assets
from incremental_assets.defs.build import build, views
from incremental_assets.defs.checks import RANGE_TAGS, check_assets
from incremental_assets.defs.following import FOLLOWS_TAG
from incremental_assets.defs.tables import View
from tests.fakes import FakeCheckpoints, FakeProbe, World
from tests.scenario import ORDERS, shop

TERMS = """
    - table: public.orders
      cursor: {column: updated_at, type: timestamp}
      strategy: upsert
      partitions: {every: month, from: 2023-10-01}
      freshness: {warn: 15m, fail: 1h}
"""


@dataclass
class FakeRuntime:
    """Opens fakes. `broken` is raised instead, once the source is asked."""

    world: World
    configuration: Configuration
    broken: Exception | None = None
    expected_full_reads: set[TableId] = field(default_factory=set)
    tracebacks_removed: list[timedelta] = field(default_factory=list)

    @property
    def checkpoints(self) -> FakeCheckpoints:
        return self.world.checkpoints

    @property
    def process(self) -> str:
        return ProcessIdentity.here().text

    def has_ended(self, process: str) -> bool:
        return ProcessIdentity.parse(process).is_gone

    def remove_tracebacks(self, than: timedelta) -> int:
        self.tracebacks_removed.append(than)
        return 1

    def probe(self, source: str) -> FakeProbe:
        if self.broken is not None:
            raise self.broken
        return FakeProbe(self.world.database)

    @property
    def observer(self) -> Observer:
        return self.world.observer

    def ports(self, source: str) -> Ports:
        return self.world.ports()

    def specs(self, source: str) -> Resolved:
        return resolve_all(self.configuration.source(source), self.probe(source).catalogue())

    def expect_full_reads(self, whole: Iterable[TableId]) -> None:
        self.expected_full_reads.update(whole)


@dataclass
class Studio:
    """The shop in Dagster."""

    world: World
    runtime: FakeRuntime
    instance: DagsterInstance

    @cached_property
    def view(self) -> View:
        (view,) = views(self.runtime.configuration, {"shop": FakeProbe(self.world.database).catalogue()})
        return view

    @cached_property
    def definitions(self) -> Definitions:
        catalogue = FakeProbe(self.world.database).catalogue()
        return build(self.runtime.configuration, {"shop": catalogue}, {"runtime": self.runtime})

    def run(
        self,
        first: str,
        last: str = "",
        *,
        tables: Sequence[TableId] = (ORDERS,),
        mode: str = "",
        check: bool = False,
        follows: str = "",
        tags: Mapping[str, str] = MappingProxyType({}),
    ) -> ExecuteInProcessResult:
        """One run over a range of partitions, as the sensor or a backfill starts it; `tags`: those of a request, in place of all that."""
        more = {name: value for name, value in {"mode": mode, FOLLOWS_TAG: follows}.items() if value}
        tags = dict(zip(RANGE_TAGS, (first, last or first), strict=True)) | more | tags
        assets = [*self.view.external(), *sync_assets(self.view), *check_assets(self.view)]
        selection = AssetSelection.assets(*map(self.view.keys.of, tables))
        return materialize(
            assets,
            selection=selection if check else selection.without_checks(),
            resources={"runtime": self.runtime},
            instance=self.instance,
            tags=tags,
            raise_on_error=False,
        )

    def check(self, *names: str, table: TableId = ORDERS, partition: str = "") -> dict[str, AssetCheckEvaluation]:
        """A stand-alone run of some checks of one table, by name."""
        keys = [AssetCheckKey(self.view.keys.of(table), name) for name in names]
        result = materialize(
            [*self.view.external(), *sync_assets(self.view), *check_assets(self.view)],
            selection=AssetSelection.checks(*keys),
            resources={"runtime": self.runtime},
            instance=self.instance,
            tags=dict.fromkeys(RANGE_TAGS, partition) if partition else {},
            raise_on_error=False,
        )
        return {each.check_name: each for each in result.get_asset_check_evaluations()}

    def announced(self, table: TableId = ORDERS) -> list[str | None]:
        """The partitions that are materialized, ascending, each as often as it was announced."""
        records = self.instance.fetch_materializations(self.view.keys.of(table), limit=1000)
        return sorted(record.partition_key or "" for record in records.records)

    def by_partition(self, name: str, table: TableId = ORDERS) -> dict[str | None, list[Any]]:
        """What the materializations of each partition say under this name, the newest one first; None where they say nothing."""
        found: dict[str | None, list[Any]] = {}
        for record in self.instance.fetch_materializations(self.view.keys.of(table), limit=1000).records:
            event = record.asset_materialization
            assert event is not None
            entry = event.metadata.get(name)
            found.setdefault(event.partition, []).append(entry and entry.value)
        return found


def configured(folder: Path, tables: str = TERMS, options: str = "") -> Configuration:
    """A sources.yaml with these tables, read as users' files are."""
    text = textwrap.dedent("""\
        lake: ./lake
        checkpoints: sqlite:///checkpoints.db
        sources:
          shop:
            dialect: postgresql
            host: localhost
            database: shop
            user: reader
            port: 5432
        """)
    text += textwrap.indent(textwrap.dedent(options), "    ")
    text += "    tables:\n" + textwrap.indent(textwrap.dedent(tables).strip() + "\n", "      ")
    path = folder / "sources.yaml"
    path.write_text(text)
    return load(path)


def opened(folder: Path, instance: DagsterInstance, tables: str = TERMS, options: str = "") -> Studio:
    """The shop at nine on Monday; `countries` is not listed."""
    world = World(shop())
    return Studio(world, FakeRuntime(world, configured(folder, tables, options)), instance)
