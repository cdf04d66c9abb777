"""Version 3: where the rows lie that differ, so that what has been read again since is forgotten."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("verifications", sa.Column("drifted", sa.Text))
