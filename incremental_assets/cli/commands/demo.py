"""`demo`: a real database, synced twice into Delta with a simulated day of changes in between, and every table proven equal."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli import reports
from incremental_assets.cli.answer import Answer
from incremental_assets.cli.commands import demo_proof
from incremental_assets.cli.commands.demo_answer import Story, answer
from incremental_assets.cli.commands.demo_site import Site
from incremental_assets.cli.commands.sync import sync_all
from incremental_assets.cli.opening import configured_or_demo, opened
from incremental_assets.cli.progress import ProgressDisplay, progress_display
from incremental_assets.cli.selection import selected
from incremental_assets.cli.streams import left_to_dagster
from incremental_assets.core.config.settings import Configuration, TableConfig
from incremental_assets.core.errors import Busy, SelectionError
from incremental_assets.core.extras import DEMO
from incremental_assets.core.model.quarantine import HeldRows
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.demo.shop import Shop

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Options:
    """The options."""

    scale: Decimal
    fresh: bool


def run(config: Path | None, options: Options) -> Answer:
    """Run the command."""
    begun = time.monotonic()
    DEMO.require()
    configuration = _within_a_day(configured_or_demo(config))
    site = Site.of(configuration)
    with (
        site.alone(),
        opened(configuration) as runtime,
        progress_display() as display,
        runtime.observer.joined_by(display),
    ):
        steps = Steps(display)
        _refuse_while_synced(runtime)
        shop = site.shop()
        steps.begin(f"starting {shop.database}")
        if options.fresh:
            runtime.checkpoints.close()
            site.clear()
            _forget_in_dagster(site)
            shop = site.shop()
        with _warming(runtime, int(options.scale * shop.size)):
            steps.done(f"{shop.database} answers on {site.start(shop)}")
            _load(shop, options, steps)
        story = _live(runtime, site, shop, steps, begun)
    return answer(story, site, shop, configuration.path)


def _within_a_day(configuration: Configuration) -> Configuration:
    """The demo's day is over in seconds: what is due once a day is due with each of its syncs."""

    def hurried(table: TableConfig) -> TableConfig:
        return replace(table, deletes=replace(table.deletes, every=timedelta()))

    sources = (replace(each, tables=tuple(map(hurried, each.tables))) for each in configuration.sources)
    return replace(configuration, sources=tuple(sources))


@contextmanager
def _warming(runtime: Runtime, size: int) -> Iterator[None]:
    """Spark starts while the data are made. If something is missing for it, the end of the block raises that."""
    from incremental_assets.adapters.spark.session import Work

    work = Work.ahead(size)
    with ThreadPoolExecutor(1) as pool, left_to_dagster():
        session = pool.submit(runtime.spark.session, work)
        yield
        session.result()


class Steps:
    """One line per step, with its seconds: on a terminal above the progress, in a pipe on stderr."""

    def __init__(self, display: ProgressDisplay) -> None:
        self.display, self._last = display, time.monotonic()

    def begin(self, sentence: str) -> None:
        """A step begins."""
        self.display.step(sentence)

    def done(self, sentence: str) -> None:
        """It has ended."""
        now = time.monotonic()
        self.display.step("")
        self.display.say(f"{now - self._last:6.1f} s  {sentence}")
        self._last = now


def _live(runtime: Runtime, site: Site, shop: Shop, steps: Steps, begun: float) -> Story:
    seed = site.days() + 1
    loaded = _first_load(runtime, site, steps)
    with shop.late(seed) as late:
        # The shop opens after the late transaction's stamp: the first sync reads past it, as a watermark by max() would.
        shop.open(seed)
        first = _sync(runtime, site, steps, "first sync")
        # A copy by the log is the table as of a place in it, at which the late transaction had not committed; one of files has all that were there.
        before = _proven_before(runtime, site, shop, first, steps) if loaded else ()
        day = shop.live_a_day(seed)
        arrived = late.commit()
    site.remember(seed)
    changed = sum(each.inserted + each.updated + each.deleted for each in (*day.tables, *arrived))
    steps.done(
        f"a day went by: {changed:,} rows changed, {sum(each.inserted + each.updated for each in arrived):,} of them stamped before the first sync"
    )
    second = _sync(runtime, site, steps, "second sync")
    specs = selected(runtime, (f"{site.source.name}.*",)).specs
    held, repaired = _held(runtime, specs), tuple[SyncReport, ...]()
    if held:
        shop.fix(day)
        repaired = _sync(runtime, site, steps, "what broke its contract was fixed", [str(table) for table in held])
    steps.begin("counting on both sides")
    proven = _prove(runtime, site, shop, first, second)
    left = sum(rows.rows for rows in _held(runtime, specs).values())
    steps.done(f"rows and hashes counted by {shop.database} and by Spark")
    return Story(loaded, first, second, held, repaired, left, day, arrived, before, proven, time.monotonic() - begun)


def _first_load(runtime: Runtime, site: Site, steps: Steps) -> tuple[SyncReport, ...]:
    """What comes before the day where it is no part of its first sync."""
    if site.source.reads_log:
        # It waits for transactions that are open, and the late one is going to be.
        return _sync(runtime, site, steps, "load")
    loaded: tuple[SyncReport, ...] = ()
    while site.drops_files:
        # One sync does not read any number of files.
        found = _sync(runtime, site, steps, "load")
        loaded += found
        if not any(each.rows.read for each in found):
            break
    return loaded


def _proven_before(
    runtime: Runtime, site: Site, shop: Shop, first: tuple[SyncReport, ...], steps: Steps
) -> tuple[demo_proof.Proven, ...]:
    steps.begin("counting on both sides")
    proven = _prove(runtime, site, shop, first)
    steps.done(f"rows and hashes counted by {shop.database} and by Spark")
    return proven


def _prove(runtime: Runtime, site: Site, shop: Shop, *syncs: tuple[SyncReport, ...]) -> tuple[demo_proof.Proven, ...]:
    """Of the tables that landed with each of these."""
    specs = selected(runtime, (f"{site.source.name}.*",)).specs
    landed = [spec for spec in specs if all(_of(spec.id, each).error is None for each in syncs)]
    # Spark, which looks through the versions of a history, has no connector to a store here.
    return tuple(demo_proof.prove(runtime, shop, site.source.name, landed, histories=not site.in_store))


def _held(runtime: Runtime, specs: Sequence[TableSpec]) -> dict[TableId, HeldRows]:
    """The rows that contracts hold, by table; only tables that have such rows."""
    found = ((spec.id, runtime.held(spec)) for spec in specs if spec.contract)
    return {table: rows for table, rows in found if rows and rows.rows}


def _load(shop: Shop, options: Options, steps: Steps) -> None:
    rows: dict[str, int] = {}
    steps.begin(f"making TPC-H data at scale {options.scale}")
    if not options.fresh:
        scale = shop.loaded_scale()
        if scale is not None and scale != options.scale:
            raise SelectionError(
                f"the demo's data are of scale {scale}; add --scale {scale} to keep them, or leave out --keep to load scale {options.scale}"
            )
    if shop.prepare(options.scale, rows.__setitem__):
        steps.done(f"TPC-H at scale {options.scale}: {len(rows)} tables, {sum(rows.values()):,} rows")
    else:
        steps.done(f"TPC-H at scale {options.scale} is there already")


def _sync(
    runtime: Runtime, site: Site, steps: Steps, name: str, patterns: Sequence[str] = ()
) -> tuple[SyncReport, ...]:
    steps.begin(name)
    found = selected(runtime, patterns or (f"{site.source.name}.*",))
    done = sync_all(runtime, found, Request(str(uuid.uuid4())), steps.display)
    steps.display.clear()
    steps.done(f"{name}: {reports.summary(done)}")
    return done


def _refuse_while_synced(runtime: Runtime) -> None:
    """Another process may be syncing the very tables that would be removed."""
    for table, beat in runtime.checkpoints.heartbeats().items():
        if beat.owner is not None:
            raise Busy(table, beat.owner)


def _forget_in_dagster(site: Site) -> None:
    """The pages of the assets start from scratch with their tables."""
    from incremental_assets.cli.dagster_runs import dagster_instance

    with dagster_instance() as instance:
        ours = [key for key in instance.get_asset_keys() if key.path[0] == site.source.name]
        if ours:
            instance.wipe_assets(ours)


def _of(table: TableId, done: Sequence[SyncReport]) -> SyncReport:
    return next(report for report in done if report.table == table)
