"""Version 10: when copies were late by their objectives of freshness."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

INSTANT = sa.TIMESTAMP(timezone=True).with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table("objectives", *_table(), sa.Column("since", INSTANT, nullable=False))
    op.create_table(
        "late", *_table(), sa.Column("begins", INSTANT, primary_key=True), sa.Column("ends", INSTANT, nullable=False)
    )


def _table() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, primary_key=True) for name in ("source", "schema_name", "table_name")]
