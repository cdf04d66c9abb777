"""Version 8: what a person has paused, by whom and why."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "pauses",
        sa.Column("source", sa.Text, primary_key=True),
        # Both empty: the whole source.
        sa.Column("schema_name", sa.Text, primary_key=True),
        sa.Column("table_name", sa.Text, primary_key=True),
        sa.Column("paused_by", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("since", INSTANT, nullable=False),
    )
