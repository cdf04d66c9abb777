"""Version 2: the value up to which each copy was verified against its source."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "verifications",
        sa.Column("source_table", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("source", "schema_name", "table_name")),
        sa.Column("verified_through", sa.Text),
        sa.Column("drift", sa.BigInteger, nullable=False),
        sa.Column("verified_at", INSTANT, nullable=False),
    )
