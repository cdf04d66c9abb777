"""The demo's answer: both syncs, the proof, and what to look at next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incremental_assets.cli import reports
from incremental_assets.cli.answer import DONE, FAILED, Answer, Note, Shown
from incremental_assets.cli.commands import demo_proof
from incremental_assets.cli.commands.demo_site import Site
from incremental_assets.cli.opening import SHIPPED, config_option
from incremental_assets.core.model.quarantine import HeldRows
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.words import counted
from incremental_assets.demo.day import DayReport, TableDay
from incremental_assets.demo.places import IN_CHECKOUT
from incremental_assets.demo.shop import Shop


@dataclass(frozen=True, slots=True)
class Story:
    """The steps so far, for the answer."""

    loaded: tuple[SyncReport, ...]
    """What came before the day, where its syncs read the log alone."""
    first: tuple[SyncReport, ...]
    second: tuple[SyncReport, ...]
    held: Mapping[TableId, HeldRows]
    """What contracts held after the second sync."""
    repaired: tuple[SyncReport, ...]
    """The sync of these tables, after their rows had been fixed in the source."""
    left: int
    """Rows that contracts hold after that."""
    day: DayReport
    late: tuple[TableDay, ...]
    before: tuple[demo_proof.Proven, ...]
    """What was compared after the first sync already."""
    proven: tuple[demo_proof.Proven, ...]
    seconds: float


def answer(story: Story, site: Site, shop: Shop, config: Path) -> Answer:
    """The answer: both syncs, the proof, what was remarkable, and what to look at next."""
    first, second = ({report.table: report for report in part} for part in (story.first, story.second))
    done = (*story.loaded, *story.first, *story.second, *story.repaired)
    broken = [report for report in done if report.status not in (Status.LANDED, Status.IDLE)]
    is_equal = bool(story.proven) and all(each.is_equal for each in (*story.before, *story.proven)) and not story.left
    tables = [
        {
            **reports.entry(second[each.table]),
            "first_sync": reports.entry(first[each.table]),
            "held": story.held[each.table].rows if each.table in story.held else 0,
            "proof": demo_proof.document(each),
        }
        for each in story.proven
    ]
    document: dict[str, Any] = {
        "equal": is_equal and not broken,
        "tables": tables,
        "held": story.left,
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
    if site.drops_files:
        shown += _notes_of_files(story)
    else:
        shown += _notes_of_log(story) if site.source.reads_log else _second_sync_notes(story, shop)
    if is_equal and not broken:
        shown.append(Note(f"{len(story.proven)} tables proven equal in {story.seconds:.0f} s", "good"))
    else:
        shown.append(Note("not every table is equal: this is a bug in this program, please report it", "bad"))
    shown += _next(site, shop, config)
    return Answer(document, tuple(shown), DONE if is_equal and not broken else FAILED)


def _second_sync_notes(story: Story, shop: Shop) -> list[Shown]:
    late = sum(report.rows.late for report in story.second)
    deleted = _deleted(story)
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
                f"Deletes are followed by comparing keys: what the shop had deleted left the copy of {deleted}, in the commits of the second sync."
            )
        )
    return [*notes, *_notes_of_held(story), *_notes_of_versions(story)]


def _notes_of_held(story: Story) -> list[Shown]:
    return [
        Note(f"{table}: {rows.sentence}. Fixed in the source, it landed with the next sync: {story.left} held now.")
        for table, rows in story.held.items()
    ]


def _notes_of_versions(story: Story) -> list[Shown]:
    return [
        Note(
            f"{each.table.history} keeps {counted(each.history.rows, 'version')} of its rows: {each.history.ended:,} ended in the second sync."
        )
        for each in story.second
        if each.history and each.history.rows
    ]


def _notes_of_files(story: Story) -> list[Shown]:
    read, held = sum(report.rows.read for report in story.second), sum(each.source.rows for each in story.proven)
    late = sum(each.inserted + each.updated for each in story.late)
    deleted = _deleted(story)
    return [
        Note(
            f"The second sync read {read:,} rows of the files that had come or changed, for tables of {held:,} rows. {late:,} of them were in files that came last and looked older than all others: "
            "whoever looks for files by their time loses them."
        ),
        Note(
            f"Supplier {story.day.future_supplier} is stamped in the year {story.day.future:%Y}: it landed, and kept nothing back."
        ),
        Note(
            f"A file of orders and one of their lines were replaced by others without the orders that had been cancelled, which left the copy of {deleted or 'no table'}."
        ),
        *_notes_of_equal_before(story, "Both sides were equal after the first sync, too, before those files came."),
        *_notes_of_held(story),
        *_notes_of_versions(story),
    ]


def _notes_of_equal_before(story: Story, sentence: str) -> list[Shown]:
    return [Note(sentence)] if story.before and all(each.is_equal for each in story.before) else []


def _deleted(story: Story) -> str:
    return ", ".join(
        f"{each.table.name} ({counted(each.rows.deleted, 'row')})" for each in story.second if each.rows.deleted
    )


def _notes_of_log(story: Story) -> list[Shown]:
    read, held = sum(report.rows.read for report in story.second), sum(each.source.rows for each in story.proven)
    late = sum(each.inserted + each.updated for each in story.late)
    gone = _deleted(story)
    return [
        Note(
            f"The second sync read {read:,} changes of the log, of tables of {held:,} rows, and no table. {late:,} rows of them were written before the first sync "
            "and committed after it: they landed with their commit."
        ),
        Note(
            f"What the shop had deleted left the copy of {gone or 'no table'}, as the log tells of it: no keys were compared."
        ),
        *_notes_of_equal_before(
            story, "Both sides were equal after the first sync, too, while that transaction was open."
        ),
        *(
            Note(
                f"{each.table.history} keeps {counted(each.history.rows, 'version')}, every one that was committed, with the time of its commit: {each.history.added + each.history.deleted:,} came with the second "
                f"sync, and {each.history.ended:,} that were there ended."
            )
            for each in story.second
            if each.history and each.history.rows
        ),
    ]


def _dev(option: str) -> str:
    if not IN_CHECKOUT:
        return f"incremental-assets dev{option}"
    return f"make dev ARGS={shlex.quote(option.strip())}" if option else "make dev"


def _next(site: Site, shop: Shop, config: Path) -> Sequence[Shown]:
    option = config_option(config, SHIPPED)
    orders = site.lake / site.source.name / shop.schema / "orders"
    here = () if site.in_store else (Note(f'  python -c "{_select(orders)}"', wrap=False),)
    return [
        Note("What to look at next", "strong"),
        Note(f"  {_dev(option)}", wrap=False),
        Note("      the same tables in Dagster's UI, with a sensor that keeps them fresh", "dim"),
        Note(f"  incremental-assets status{option}", wrap=False),
        Note(f"  incremental-assets sync{option}", wrap=False),
        Note("      nothing changed, and no JVM was started to find that out", "dim"),
        Note(f"  {config}", wrap=False),
        Note("      what is synced, from where, into which lake", "dim"),
        *here,
    ]


def _select(orders: Path) -> str:
    """A first SELECT without Spark: the query engine of deltalake reads deletion vectors, its plain readers do not."""
    return (
        f"import deltalake as d, pyarrow as p; t = d.DeltaTable('{orders}'); "  # noqa: S608 - a line to copy
        "print(p.table(d.QueryBuilder().register('orders', t).execute('SELECT count(*), max(updated_at) FROM orders')))"
    )
