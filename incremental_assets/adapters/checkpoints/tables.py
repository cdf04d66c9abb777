"""The checkpoint database as SQLAlchemy tables. `migrations` creates them, with indexes and views."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Dialect,
    Double,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    and_,
    bindparam,
    tuple_,
)
from sqlalchemy.dialects.postgresql import TIMESTAMP

from incremental_assets.core.model.table_id import TableId


class Instant(TypeDecorator[datetime]):
    """A moment. SQLite keeps it as UTC text, `2024-01-31 10:00:00.123`, which people can read and which sorts."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(TIMESTAMP(timezone=True) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None or dialect.name == "postgresql":
            return value
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        return value.astimezone(UTC) if value is not None else None


metadata = MetaData()

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("event_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    # `source.schema.table` for people; a name may hold a dot, so the program uses the three columns.
    Column("source_table", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("schema_name", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("sync_id", Text, nullable=False),
    Column("seq", BigInteger),
    Column("event", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("batch_id", Text, nullable=False),
    Column("app_id", Text, nullable=False),
    Column("mode", Text),
    Column("strategy", Text),
    Column("status", Text),
    Column("cursor_column", Text),
    Column("previous_watermark", Text),
    Column("new_watermark", Text),
    Column("window_lower", Text),
    Column("window_upper", Text),
    Column("settled", Text),
    Column("guarantee", Text),
    Column("guarantee_reason", Text),
    Column("rows_read", BigInteger),
    Column("rows_inserted", BigInteger),
    Column("rows_updated", BigInteger),
    Column("rows_deleted", BigInteger),
    Column("rows_unchanged", BigInteger),
    Column("rows_late", BigInteger),
    Column("rows_quarantined", BigInteger),
    Column("target_table_id", Text),
    Column("target_version", BigInteger),
    Column("target_seq", BigInteger),
    Column("started_at", Instant),
    Column("completed_at", Instant),
    Column("seconds", Double),
    Column("stages", Text),
    Column("warnings", Text),
    Column("error", Text),
    Column("detail", Text, nullable=False),
    # What the program reads back, typed; the columns above are for SQL.
    Column("state", Text),
    Column("report", Text),
)

heartbeats = Table(
    "heartbeats",
    metadata,
    Column("source_table", Text, nullable=False),
    Column("source", Text, primary_key=True),
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    # The lease; all NULL while no run writes the table.
    Column("token", Text),
    Column("run_id", Text),
    Column("host", Text),
    Column("machine", Text),
    Column("pid", BigInteger),
    Column("process_started", Text),
    Column("taken_at", Instant),
    Column("expires_at", Instant),
    # Of earlier releases; nothing is written here.
    Column("probed_at", Instant),
    Column("lag_seconds", Double),
)

catalogue = Table(
    "catalogue",
    metadata,
    Column("source", Text, primary_key=True),
    Column("shapes", Text, nullable=False),
    Column("seen_at", Instant, nullable=False),
)

configurations = Table(
    "configurations",
    metadata,
    Column("source", Text, primary_key=True),
    # Each value by its path, as JSON.
    Column("effective", Text, nullable=False),
)

verifications = Table(
    "verifications",
    metadata,
    Column("source_table", Text, nullable=False),
    Column("source", Text, primary_key=True),
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("verified_through", Text),
    Column("drift", BigInteger, nullable=False),
    Column("verified_at", Instant, nullable=False),
    # The windows with drift, as JSON; NULL as written by version 2: anywhere.
    Column("drifted", Text),
)

looks = Table(
    "looks",
    metadata,
    Column("source", Text, primary_key=True),
    Column("looked_at", Instant),
    Column("failed_at", Instant),
    Column("held_back_since", Instant),
    Column("kept_bytes", BigInteger),
    Column("behind", Text),
)

pauses = Table(
    "pauses",
    metadata,
    Column("source", Text, primary_key=True),
    # Both empty: the whole source.
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("paused_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("since", Instant, nullable=False),
)

deeds = Table(
    "deeds",
    metadata,
    Column("deed_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", Instant, nullable=False),
    Column("act", Text, nullable=False),
    Column("source", Text, nullable=False),
    # Both empty: the whole source.
    Column("schema_name", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("done_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    # A hash of the row and of this of the one before; empty where it was written by a release that had none.
    Column("chain", Text, nullable=False, server_default=""),
)

objectives = Table(
    "objectives",
    metadata,
    Column("source", Text, primary_key=True),
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    # From when on it is recorded when the copy was late.
    Column("since", Instant, nullable=False),
)

late = Table(
    "late",
    metadata,
    Column("source", Text, primary_key=True),
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("begins", Instant, primary_key=True),
    Column("ends", Instant, nullable=False),
)

incidents = Table(
    "incidents",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("about", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    # Both empty: the whole source.
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("mark", Text, primary_key=True),
    Column("sentence", Text, nullable=False),
    Column("begun_at", Instant, nullable=False),
    # NULL until the channel has it.
    Column("said_at", Instant),
    # NULL while it lasts.
    Column("ended_at", Instant),
    # Since when a process is about to say that it began, or that it is over.
    Column("claimed_at", Instant),
)

prunings = Table(
    "prunings",
    metadata,
    Column("source", Text, primary_key=True),
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("pruned_at", Instant, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("versions", BigInteger, nullable=False),
    Column("quarantined", BigInteger, nullable=False),
    # Why nothing was removed of some part of it, as JSON.
    Column("left_alone", Text, nullable=False),
)

registrations = Table(
    "registrations",
    metadata,
    Column("source", Text, primary_key=True),
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    # Which kind of catalogue: a table has one name in each.
    Column("catalogue", Text, primary_key=True),
    Column("place", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("problem", Text, nullable=False),
    Column("registered_at", Instant, nullable=False),
)

installation = Table(
    "installation", metadata, Column("only", Integer, primary_key=True), Column("id", Text, nullable=False)
)

schema_changes = Table(
    "schema_changes",
    metadata,
    Column("change_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("source_table", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("schema_name", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("seq", BigInteger),
    Column("run_id", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("column_name", Text, nullable=False),
    Column("change", Text, nullable=False),
    Column("type_before", Text),
    Column("type_after", Text),
    Column("decided_by", Text, nullable=False),
)


def names_of(table: TableId) -> dict[str, str]:
    """The columns that name a table, as every row of it begins."""
    return {"source_table": str(table), "source": table.source, "schema_name": table.schema, "table_name": table.name}


def is_named(columns: Any) -> ColumnElement[bool]:
    """The condition that a row belongs to the table of `named`: a statement with it is made once, which costs more than to execute it."""
    return and_(
        columns.source == bindparam("of_source"),
        columns.schema_name == bindparam("of_schema"),
        columns.table_name == bindparam("of_table"),
    )


def named(table: TableId) -> dict[str, str]:
    """What such a statement is executed with."""
    return {"of_source": table.source, "of_schema": table.schema, "of_table": table.name}


def is_table(columns: Any, table: TableId) -> ColumnElement[bool]:
    """The condition that a row belongs to `table`."""
    return and_(columns.source == table.source, columns.schema_name == table.schema, columns.table_name == table.name)


def among(columns: Any, tables: Iterable[TableId]) -> ColumnElement[bool]:
    """The condition that a row belongs to one of `tables`."""
    names = [(table.source, table.schema, table.name) for table in tables]
    return tuple_(columns.source, columns.schema_name, columns.table_name).in_(names)


def same_table(one: Any, other: Any) -> ColumnElement[bool]:
    """The condition that two rows belong to the same table."""
    return and_(one.source == other.source, one.schema_name == other.schema_name, one.table_name == other.table_name)


def table_of(row: Any) -> TableId:
    """The table a row belongs to."""
    return TableId(row.source, row.schema_name, row.table_name)
