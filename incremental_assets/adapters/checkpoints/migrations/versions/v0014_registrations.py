"""Version 14: how tables were made known to data catalogues, or why they could not be."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "registrations",
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("source", "schema_name", "table_name", "catalogue")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("place", "fingerprint", "problem")),
        sa.Column("registered_at", INSTANT, nullable=False),
    )
