"""Rules between the keys of a source that is a database. Each mistake is a path below the source and its cure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from incremental_assets.core.config.database_document import DatabaseDocument
from incremental_assets.core.config.dialects import facts_of, logged
from incremental_assets.core.config.rules import Mistake, grid_mistakes
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.terms import leaves_out_all
from incremental_assets.core.words import counted


def database_mistakes(source: DatabaseDocument, now: datetime) -> Iterator[Mistake]:
    """What is wrong in a database outside its tables, beside what may be wrong in any source."""
    yield from _place_mistakes(source)
    if facts_of(source.dialect).schema_is_database and source.schemas is None and not isinstance(source.database, str):
        yield (
            ("schemas",),
            f"a schema of {source.dialect} is a database, whose name is not known before the reference is followed; write it as `schemas: [name]`",
        )
    names_no_user = source.user is not None and not isinstance(source.user, str)
    if facts_of(source.dialect).schema_is_user and source.schemas is None and names_no_user:
        yield (
            ("schemas",),
            f"a schema of {source.dialect} is what a user owns, whose name is not known before the reference is followed; write it as `schemas: [NAME]`",
        )
    if source.schemas and len(set(source.schemas)) < len(source.schemas):
        yield ("schemas",), "a schema may appear once in the list; remove the repetition"
    if all(leaves_out_all(source.exclude, schema) for schema in source.searched):
        yield (
            ("exclude",),
            "this leaves out every table that is not listed; write `unlisted: ignore` in its place, or exclude fewer",
        )
    yield from _connection_mistakes(source)
    yield from grid_mistakes(source.partitions, now)
    if not facts_of(source.dialect).has_log and "log" in source.model_fields_set:
        yield ("log",), f"the log is read of {', '.join(logged())}, and this source is {source.dialect}; remove `log`"


def _place_mistakes(source: DatabaseDocument) -> Iterator[Mistake]:
    """A server is reached by host and user; a file has neither."""
    if not facts_of(source.dialect).is_file:
        missing = [name for name in ("host", "user") if getattr(source, name) is None]
        yield from (((name,), f"the key `{name}` is missing; add it") for name in missing)
        return
    for name in ("host", "port", "user", "password", "tls"):
        if name in source.model_fields_set:
            yield (name,), f"a file has no {name}; remove the key, `database` says where the file is"


def _connection_mistakes(source: DatabaseDocument) -> Iterator[Mistake]:
    """As many as are needed, and no more than there are."""
    most, wanted = source.parallel.connections, source.backfill.connections
    if wanted is not None and wanted > most:
        yield (
            ("backfill", "connections"),
            f"a source has at most {counted(most, 'connection')}, by `parallel`; write {most} or less, or raise `parallel: {{connections: …}}`",
        )
    if most < 2 and any(isinstance(table, TableDocument) and table.capture is not None for table in source.tables):
        yield (
            ("parallel", "connections"),
            "a load beside the log has its snapshot and the log open at once; write `parallel: {connections: 2}` or more",
        )
