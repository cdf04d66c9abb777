"""`demo`: a real database, synced twice into Delta with a simulated day of changes in between, and every table proven equal."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli import reports
from incremental_assets.cli.answer import DONE, FAILED, Answer, Note, Shown
from incremental_assets.cli.commands import demo_proof
from incremental_assets.cli.commands.demo_site import Site
from incremental_assets.cli.commands.sync import sync_all
from incremental_assets.cli.opening import SHIPPED, configured, opened
from incremental_assets.cli.progress import ProgressDisplay, progress_display
from incremental_assets.cli.selection import selected
from incremental_assets.cli.streams import left_to_dagster
from incremental_assets.core.errors import Busy, SelectionError
from incremental_assets.core.model.table import TableId
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.demo.day import DayReport, TableDay
from incremental_assets.demo.shop import Shop

if TYPE_CHECKING:
    from resources.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Options:
    """The options."""

    scale: Decimal
    fresh: bool


@dataclass(frozen=True, slots=True)
class Story:
    """The steps so far, for the answer."""

    first: tuple[SyncReport, ...]
    second: tuple[SyncReport, ...]
    day: DayReport
    late: tuple[TableDay, ...]
    proven: tuple[demo_proof.Proven, ...]
    seconds: float


def run(config: Path | None, options: Options) -> Answer:
    """Run the command."""
    begun = time.monotonic()
    configuration = configured(config)
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
    return _answer(story, site, shop, "" if configuration.path == SHIPPED else f" --config {configuration.path}")


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
    days = site.days()
    seed = days.count + 1
    with shop.late(seed) as late:
        # The shop opens after the late transaction's stamp: the first sync reads past it, as a watermark by max() would.
        shop.open(seed)
        first = _sync(runtime, site, steps, "first sync")
        day = shop.live_a_day(seed)
        arrived = late.commit()
    days = days.after(day.cancelled_orders)
    site.remember(days)
    changed = sum(each.inserted + each.updated + each.deleted for each in (*day.tables, *arrived))
    steps.done(
        f"a day went by: {changed:,} rows changed, {sum(each.inserted + each.updated for each in arrived):,} of them stamped before the first sync"
    )
    second = _sync(runtime, site, steps, "second sync")
    steps.begin("counting on both sides")
    specs = selected(runtime, (f"{site.source.name}.*",)).specs
    landed = [spec for spec in specs if all(_of(spec.id, part).error is None for part in (first, second))]
    proven = demo_proof.prove(runtime, site.source.name, landed, days.cancelled)
    steps.done(f"rows and hashes counted by {shop.database} and by Spark")
    return Story(first, second, day, arrived, tuple(proven), time.monotonic() - begun)


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


def _sync(runtime: Runtime, site: Site, steps: Steps, name: str) -> tuple[SyncReport, ...]:
    steps.begin(name)
    found = selected(runtime, (f"{site.source.name}.*",))
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
    from dagster import DagsterInstance

    from incremental_assets.cli.opening import dagster_home

    dagster_home()
    with DagsterInstance.get() as instance:
        ours = [key for key in instance.get_asset_keys() if key.path[0] == site.source.name]
        if ours:
            instance.wipe_assets(ours)


# --- the answer -----------------------------------------------------------------------------------


def _answer(story: Story, site: Site, shop: Shop, option: str) -> Answer:
    first, second = ({report.table: report for report in part} for part in (story.first, story.second))
    broken = [report for report in (*story.first, *story.second) if report.status not in (Status.LANDED, Status.IDLE)]
    is_equal = bool(story.proven) and all(each.is_equal for each in story.proven)
    tables = [
        {
            **reports.entry(second[each.table]),
            "first_sync": reports.entry(first[each.table]),
            "proof": demo_proof.document(each),
        }
        for each in story.proven
    ]
    document: dict[str, Any] = {
        "equal": is_equal and not broken,
        "tables": tables,
        "failed": [reports.entry(report) for report in broken],
        "seconds": round(story.seconds, 1),
    }
    shown: list[Shown] = [
        demo_proof.work(first, second),
        Note(""),
        demo_proof.grid(story.proven, shop.database),
        Note(""),
    ]
    shown += [Note(report.error or f"{report.table}: {report.status}", "bad") for report in broken]
    shown += _second_sync_notes(story, shop)
    if is_equal and not broken:
        shown.append(Note(f"{len(story.proven)} tables proven equal in {story.seconds:.0f} s", "good"))
    else:
        shown.append(Note("not every table is equal: this is a bug in this program, please report it", "bad"))
    shown += _next(site, shop, option)
    return Answer(document, tuple(shown), DONE if is_equal and not broken else FAILED)


def _second_sync_notes(story: Story, shop: Shop) -> list[Shown]:
    late = sum(report.rows.late for report in story.second)
    deleted = ", ".join(f"{each.table.name} ({each.left_out:,} rows)" for each in story.proven if each.left_out)
    read, held = sum(report.rows.read for report in story.second), sum(each.source.rows for each in story.proven)
    notes: list[Shown] = [
        Note(
            f"The second sync read {read:,} of {held:,} rows. {late:,} of them were late: stamped before the first sync, committed after it. A watermark by max(updated_at) loses them."
            if story.late
            else f"The second sync read {read:,} of {held:,} rows. None could be late: in {shop.database} one transaction writes at a time."
        ),
        Note(
            f"Supplier {story.day.future_supplier} is stamped in the year {story.day.future:%Y}: it landed, and the watermark stayed at the source's clock."
        ),
    ]
    if deleted:
        notes.append(
            Note(
                f"The demo does not follow deletes: the rows deleted in the source were left out of the comparison in {deleted}.",
                "warn",
            )
        )
    return notes


def _next(site: Site, shop: Shop, option: str) -> Sequence[Shown]:
    orders = site.lake / site.source.name / shop.schema / "orders"
    return [
        Note("What to look at next", "strong"),
        Note(f"  make dev{' ARGS=' + repr(option.strip()) if option else ''}", wrap=False),
        Note("      the same tables in Dagster's UI, with a sensor that keeps them fresh", "dim"),
        Note(f"  incremental-assets status{option}", wrap=False),
        Note(f"  incremental-assets sync{option}", wrap=False),
        Note("      nothing changed, and no JVM was started to find that out", "dim"),
        Note(f"  {_configuration(option)}", wrap=False),
        Note("      what is synced, from where, into which lake", "dim"),
        Note(f'  python -c "{_select(orders)}"', wrap=False),
    ]


def _select(orders: Path) -> str:
    """A first SELECT without Spark: the query engine of deltalake reads deletion vectors, its plain readers do not."""
    return (
        f"import deltalake as d, pyarrow as p; t = d.DeltaTable('{orders}'); "  # noqa: S608 - a line to copy
        "print(p.table(d.QueryBuilder().register('orders', t).execute('SELECT count(*), max(updated_at) FROM orders')))"
    )


def _configuration(option: str) -> str:
    return option.removeprefix(" --config ") or str(SHIPPED)


def _of(table: TableId, done: Sequence[SyncReport]) -> SyncReport:
    return next(report for report in done if report.table == table)
