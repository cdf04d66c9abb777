"""Version 4: what syncs changed of the columns of copies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "schema_changes",
        sa.Column(
            "change_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), primary_key=True
        ),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("source_table", "source", "schema_name", "table_name")),
        sa.Column("seq", sa.BigInteger),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("column_name", sa.Text, nullable=False),
        sa.Column("change", sa.Text, nullable=False),
        sa.Column("type_before", sa.Text),
        sa.Column("type_after", sa.Text),
        sa.Column("decided_by", sa.Text, nullable=False),
    )
    op.create_index("schema_changes_of_table", "schema_changes", ["source", "schema_name", "table_name", "change_id"])
