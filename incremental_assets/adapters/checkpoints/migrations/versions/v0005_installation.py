"""Version 5: which database this is, by which the lake knows who writes it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "installation",
        # One row.
        sa.Column("only", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False),
    )
