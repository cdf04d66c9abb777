"""What catalogues of lineage call the tables of the stories."""

from __future__ import annotations

from incremental_assets.core.model.dataset import Dataset
from incremental_assets.core.observing.datasets import Datasets

NOWHERE = Datasets("/lake", lambda _: None)
"""Of a kind of source that has no such names."""
SHOP = Datasets("/lake", lambda table: Dataset("postgres://db.example.com:5432", f"shop.{table.schema}.{table.name}"))
