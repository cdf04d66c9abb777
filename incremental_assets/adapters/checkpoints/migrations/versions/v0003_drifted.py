"""Version 3: the windows with drift, so that drift is forgotten once its window is read again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("verifications", sa.Column("drifted", sa.Text))
