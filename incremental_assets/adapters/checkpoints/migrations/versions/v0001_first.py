"""Version 1: events, leases, the last seen catalogue, and the two views that people query."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")
NAMES = ("source_table", "source", "schema_name", "table_name")
TABLE = ("source", "schema_name", "table_name")

# One row per finished sync. A reset, an intent or a fence is not one.
INCREMENTAL_WATERMARKS = """
CREATE VIEW incremental_watermarks AS
SELECT run_id, sync_id, source_table, seq, status, mode, strategy, previous_watermark, new_watermark,
       window_lower, window_upper, guarantee, rows_read AS rows_exported, rows_inserted, rows_updated, rows_deleted,
       rows_unchanged, rows_late, rows_quarantined, target_version, started_at, completed_at, error
FROM checkpoints
WHERE completed_at IS NOT NULL
"""

# One row per table: the terms and the watermark of its newest state.
SYNC_CONFIGURATIONS = """
CREATE VIEW sync_configurations AS
SELECT c.sync_id, c.source AS config_name, c.source_table, NULLIF(c.cursor_column, '') AS incremental_column, c.strategy,
       c.new_watermark AS last_watermark, c.at AS updated_at, c.cursor_column <> '' AS is_incremental
FROM heartbeats AS h
JOIN checkpoints AS c ON c.event_id = (
    SELECT MAX(n.event_id) FROM checkpoints AS n
    WHERE n.source = h.source AND n.schema_name = h.schema_name AND n.table_name = h.table_name AND n.state IS NOT NULL
)
"""


def upgrade() -> None:
    _events()
    _leases()
    op.create_table(
        "catalogue",
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("shapes", sa.Text, nullable=False),
        sa.Column("seen_at", INSTANT, nullable=False),
    )
    op.execute(INCREMENTAL_WATERMARKS)
    op.execute(SYNC_CONFIGURATIONS)


def _events() -> None:
    texts = (
        "mode", "strategy", "status", "cursor_column", "previous_watermark", "new_watermark", "window_lower", "window_upper",
        "settled", "guarantee", "guarantee_reason",
    )  # fmt: skip
    counts = ("read", "inserted", "updated", "deleted", "unchanged", "late", "quarantined")
    op.create_table(
        "checkpoints",
        sa.Column(
            "event_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), primary_key=True
        ),
        *(sa.Column(name, sa.Text, nullable=False) for name in (*NAMES, "sync_id")),
        sa.Column("seq", sa.BigInteger),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("batch_id", sa.Text, nullable=False),
        sa.Column("app_id", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text) for name in texts),
        *(sa.Column(f"rows_{name}", sa.BigInteger) for name in counts),
        sa.Column("target_table_id", sa.Text),
        sa.Column("target_version", sa.BigInteger),
        sa.Column("started_at", INSTANT),
        sa.Column("completed_at", INSTANT),
        sa.Column("seconds", sa.Double),
        sa.Column("stages", sa.Text),
        sa.Column("warnings", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("state", sa.Text),
        sa.Column("report", sa.Text),
        sqlite_autoincrement=True,  # the order of events is their id, so none may be given twice
    )
    # Each answers one question of where a table stands from its end, however long the history is.
    op.create_index("checkpoints_by_event", "checkpoints", [*TABLE, "event", "event_id"])
    op.create_index("checkpoints_by_seq", "checkpoints", [*TABLE, "seq"])
    for name, condition in (("state", "state IS NOT NULL"), ("app_id", "app_id <> ''")):
        op.create_index(
            f"checkpoints_by_{name}",
            "checkpoints",
            [*TABLE, "event_id"],
            sqlite_where=sa.text(condition),
            postgresql_where=sa.text(condition),
        )
    completed = sa.text("completed_at IS NOT NULL")
    op.create_index(
        "checkpoints_by_completed_at",
        "checkpoints",
        ["completed_at"],
        sqlite_where=completed,
        postgresql_where=completed,
    )


def _leases() -> None:
    op.create_table(
        "heartbeats",
        sa.Column("source_table", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text, primary_key=True) for name in TABLE),
        *(sa.Column(name, sa.Text) for name in ("token", "run_id", "host", "machine")),
        sa.Column("pid", sa.BigInteger),
        sa.Column("process_started", sa.Text),
        sa.Column("taken_at", INSTANT),
        sa.Column("expires_at", INSTANT),
        sa.Column("probed_at", INSTANT),
        sa.Column("lag_seconds", sa.Double),
    )
