"""Version 15: each deed carries a hash of itself and of the one before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("deeds", sa.Column("chain", sa.Text, nullable=False, server_default=""))
