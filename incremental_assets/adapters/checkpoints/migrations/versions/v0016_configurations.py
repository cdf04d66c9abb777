"""Version 16: what the configuration of each source came to when it was used last, so that the audit has what changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "configurations",
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("effective", sa.Text, nullable=False),
    )
