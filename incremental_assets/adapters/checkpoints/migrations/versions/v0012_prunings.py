"""Version 12: when tables were last pruned by their retention, and what that came to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "prunings",
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("source", "schema_name", "table_name")),
        sa.Column("pruned_at", INSTANT, nullable=False),
        sa.Column("files", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("left_alone", sa.Text, nullable=False),
    )
