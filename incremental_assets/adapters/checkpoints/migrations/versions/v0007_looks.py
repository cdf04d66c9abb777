"""Version 7: the last look at each source, by which a table at which nothing happens is known to be in step."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "looks",
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("looked_at", INSTANT),
        sa.Column("failed_at", INSTANT),
        sa.Column("held_back_since", INSTANT),
        sa.Column("kept_bytes", sa.BigInteger),
        # Tables that were not seen in step, as JSON: schema, name, and when one last was.
        sa.Column("behind", sa.Text),
    )
