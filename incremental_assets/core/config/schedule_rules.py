"""What must hold between `schedule`, `quiet` and the keys that say when something is done in another way. Each mistake is a path, and its cure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.yaml_source import Path

Mistake = tuple[Path, str]

_SEASONS = (date(2024, 1, 15), date(2024, 7, 15))
"""Days between which a zone may have moved its clocks."""


def table_mistakes(table: TableDocument) -> Iterator[Mistake]:
    """Two ways to say when a table is due."""
    if table.schedule is None:
        return
    if table.refresh_every is not None:
        yield (
            ("refresh_every",),
            "`schedule` says when this table is due, and `refresh_every` says so in another way; remove one of the two",
        )
    if table.compare is not None and table.compare.every:
        yield (
            ("compare", "every"),
            "`schedule` says when this table is compared; write `compare: {every: 0s}`, with each look, or remove `schedule`",
        )


def log_mistakes(table: TableDocument, *, scheduled: bool) -> Iterator[Mistake]:
    """The source keeps its log until it was read."""
    why = "the source keeps its log until it was read, so that a table of it has no calendar of its own"
    if table.schedule is not None:
        yield ("schedule",), f"{why}; remove `schedule`, or write a cursor in place of `capture`"
    elif scheduled:
        yield ("capture",), f"{why}, and this source has a `schedule`; write that at the tables that need one"


def source_mistakes(source: SourceDocument) -> Iterator[Mistake]:
    """Of a source: `every` and `refresh_every` beside its schedule, and a daily check that begins where all is to be quiet."""
    written = source.model_fields_set
    if source.schedule is not None:
        for key in ("every", "refresh_every"):
            if key in written:
                yield (
                    (key,),
                    f"`schedule` says when the tables of this source are due, and `{key}` says so in another way; remove one of the two, or write `schedule` at the tables that need one",
                )
    quiet, check_at = source.quiet, source.check_at
    if quiet is None or check_at is None:
        return
    if any(quiet.until(datetime.combine(day, check_at, UTC)) for day in _SEASONS):
        default = "" if "check_at" in written else " unless `check_at` says otherwise"
        yield (
            ("check_at",) if "check_at" in written else ("quiet",),
            f"everything is checked at {check_at:%H:%M}{default}, which is in the quiet time {quiet}; write another `check_at`, in UTC, or `check_at: never`",
        )
