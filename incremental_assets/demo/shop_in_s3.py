"""The shop in PostgreSQL, and beside it the store of objects in which its lake is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from incremental_assets.core.extras import S3
from incremental_assets.demo import shop_in_postgresql
from incremental_assets.demo.object_store import KEY, EmbeddedObjectStore
from incremental_assets.demo.places import BUCKET


class Shop(shop_in_postgresql.Shop):
    """Implements `demo.shop.Shop`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._store = EmbeddedObjectStore(folder / "store")

    def start(self) -> str:
        """The database, and the store with its bucket."""
        S3.require()
        place = super().start()
        self._store.start().make_bucket(BUCKET)
        return f"{place}, and {self._store.title}, with the lake, on {self._store.address}"

    def stop(self) -> None:
        """Both."""
        self._store.stop()
        super().stop()

    def remove(self) -> None:
        """Both, and the lake with the store."""
        self._store.remove()
        super().remove()

    def access(self) -> Mapping[str, str]:
        """Besides, where the store is and how it is opened."""
        of_store = {"endpoint": f"http://{self._store.address}", "key": KEY, "secret": self._store.secret}
        return {**super().access(), **of_store}
