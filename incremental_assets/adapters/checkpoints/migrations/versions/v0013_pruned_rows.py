"""Version 13: how many rows of histories and quarantines were pruned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    for name in ("versions", "quarantined"):
        op.add_column("prunings", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
