"""Version 11: what channels were notified of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")
KEY = ("channel", "about", "source", "schema_name", "table_name", "mark")


def upgrade() -> None:
    op.create_table(
        "incidents",
        # Schema and table are empty where it is about the whole source.
        *(sa.Column(name, sa.Text, primary_key=True) for name in KEY),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("begun_at", INSTANT, nullable=False),
        sa.Column("said_at", INSTANT),
        sa.Column("ended_at", INSTANT),
        sa.Column("claimed_at", INSTANT),
    )
