"""Rules between the keys of a source that is a database. Each mistake is a path below the source and its cure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from incremental_assets.core.config.database_document import DatabaseDocument
from incremental_assets.core.config.dialects import facts_of, logged, tunnelled
from incremental_assets.core.config.rules import Mistake, grid_mistakes
from incremental_assets.core.config.terms import leaves_out_all
from incremental_assets.core.words import counted


def database_mistakes(source: DatabaseDocument, now: datetime) -> Iterator[Mistake]:
    """What is wrong in a database outside its tables, beside what may be wrong in any source."""
    yield from _place_mistakes(source)
    yield from _name_mistakes(source)
    if (
        facts_of(source.dialect).schema_is_database
        and source.schemas is None
        and source.database is not None
        and not isinstance(source.database, str)
    ):
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
    if facts_of(source.dialect).has_log and not facts_of(source.dialect).keeps_log:
        yield from (
            (
                ("log", name),
                f"a {source.dialect} keeps its log for nobody, so that there is nothing to say of it; remove `{name}`",
            )
            for name in sorted(source.log.of_slot)
        )
    if not facts_of(source.dialect).has_log and "log" in source.model_fields_set:
        yield ("log",), f"the log is read of {', '.join(logged())}, and this source is {source.dialect}; remove `log`"


def _place_mistakes(source: DatabaseDocument) -> Iterator[Mistake]:
    """A server is reached by host and user; a file has neither."""
    if not facts_of(source.dialect).is_file:
        missing = [name for name in ("host", "user") if getattr(source, name) is None]
        yield from (((name,), f"the key `{name}` is missing; add it") for name in missing)
        if source.ssh is not None and not facts_of(source.dialect).tunnels:
            yield (
                ("ssh",),
                f"tunnels lead to {', '.join(tunnelled())}, and this source is {source.dialect}; make one by `ssh -L`, and write its port",
            )
        return
    for name in ("host", "port", "user", "password", "tls", "ssh"):
        if name in source.model_fields_set:
            yield (name,), f"a file has no {name}; remove the key, `database` says where the file is"


def _name_mistakes(source: DatabaseDocument) -> Iterator[Mistake]:
    """One database, or several of a server."""
    names = source.databases
    if names is None:
        if source.database is None:
            yield ("database",), "the key `database` is missing; add it"
        return
    if source.database is not None:
        yield ("databases",), "`database` names the one database of this source; remove one of the two"
    elif facts_of(source.dialect).is_file:
        yield ("databases",), "a file is a source of its own; write one source for each"
    elif facts_of(source.dialect).schema_is_database:
        yield (
            ("databases",),
            f"a database of {source.dialect} is a schema here; write `database` and `schemas: [{', '.join(names)}]`",
        )
    elif len(set(names)) < len(names):
        yield ("databases",), "a database may appear once in the list; remove the repetition"


def _connection_mistakes(source: DatabaseDocument) -> Iterator[Mistake]:
    """As many as are needed, and no more than there are."""
    most, wanted = source.parallel.connections, source.backfill.connections
    if wanted is not None and wanted > most:
        yield (
            ("backfill", "connections"),
            f"a source has at most {counted(most, 'connection')}, by `parallel`; write {most} or less, or raise `parallel: {{connections: …}}`",
        )
