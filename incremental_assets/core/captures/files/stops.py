"""What stops a table that is read from files: one that has landed is another one since. Pure."""

from __future__ import annotations

from incremental_assets.core.captures.files.observation import News
from incremental_assets.core.errors import SourceExchanged
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import counted


def check_unchanged(spec: TableSpec, news: News) -> None:
    """Raises SourceExchanged where a file is another one than the one that landed."""
    if not news.changed:
        return
    first, others = news.changed[0], len(news.changed) - 1
    more = f", and {counted(others, 'other file')}" if others else ""
    raise SourceExchanged(
        f"{spec.id}: the file {first.path!r} ({first.size:,} bytes){more} is no longer the one that landed, so that the copy has rows of what it was; put it back, write `changed: again` to read "
        f"such files again or `changed: ignore` to leave what landed, or load the table again with {full_refresh(spec)}"
    )
