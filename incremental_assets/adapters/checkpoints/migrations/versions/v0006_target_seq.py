"""Version 6: the last sequence of the target, by which a copy that was restored from an older one is known whatever its version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("checkpoints", sa.Column("target_seq", sa.BigInteger))
