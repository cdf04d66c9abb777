"""What catalogues of lineage call the tables of the stories."""

from __future__ import annotations

from incremental_assets.core.config.database_settings import DatabaseSettings
from incremental_assets.core.config.settings import SourceSettings
from incremental_assets.core.observing.datasets import Datasets

NOWHERE = Datasets("/lake", lambda _: SourceSettings())
"""Of a kind of source that has no such names."""
SHOP = Datasets(
    "/lake",
    lambda _: DatabaseSettings(dialect="postgresql", host="db.example.com", port=5432, database="shop", user="reader"),
)
