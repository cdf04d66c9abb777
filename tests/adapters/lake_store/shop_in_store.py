"""The product's own syncs between a database and a lake in a store; what landed is read without Spark, which reaches no store here."""

from __future__ import annotations

import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.core.model.paths import quarantine_path, staging_path, table_path
from tests.conformance.stand import Stand, plain
from tests.shop import Shop

SECRET = "s3cret-of-the-lake"


@dataclass(frozen=True)
class StoreShop(Shop):
    """`address`: of the server as the configuration names it. `master`: of the cluster that does the work, if one does."""

    address: str = ""
    root: str = ""
    master: str = ""

    def configure(self, tables: str, options: str = "") -> None:
        super().configure(tables, options)
        stores = textwrap.dedent(f"""\
            lake: {self.root}/lake
            stores:
              {self.root.partition("://")[2]}: {{endpoint: "http://{self.address}", region: us-east-1, access_key_id: {{env: LAKE_KEY}}, secret_access_key: {{env: LAKE_SECRET}}}}
            """)
        spark = f"spark: {{master: '{self.master}'}}\n" if self.master else ""
        self.config.write_text(self.config.read_text(encoding="utf-8").replace("lake: ./lake\n", spark + stores))

    @property
    def in_store(self) -> str:
        """The lake, as the product calls it."""
        return f"{self.root.replace('s3://', 's3a://')}/lake"


@dataclass
class StoreStand(Stand[StoreShop]):
    """The same of a lake in a bucket."""

    def copy(self, name: str, *columns: str, schema: str = "") -> list[tuple[Any, ...]]:
        return self.table(table_path(self.shop.in_store, self._id(name)), *columns)

    def table(self, path: str, *columns: str) -> list[tuple[Any, ...]]:
        """Rows of a table there, ordered, without the columns that a sync adds."""
        rows = rows_in(self.store, path, self.shop.folder, *columns)
        return sorted((tuple(plain(value) for value in row.values()) for row in rows), key=repr)

    def quarantined(self, name: str) -> list[dict[str, Any]]:
        rows = self.table(quarantine_path(self.shop.in_store, self._id(name)), "_sync_reason")
        return [{"_sync_reason": reason} for (reason,) in rows]

    def history(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        return self.table(table_path(self.shop.in_store, self._id(name).history), *columns)

    def staged(self, name: str) -> list[str]:
        return list(self.store.list_from(staging_path(self.shop.in_store, self._id(name))))

    def versions(self, name: str) -> list[int]:
        listed = self.store.list_from(f"{table_path(self.shop.in_store, self._id(name))}/_delta_log")
        return sorted(int(Path(each).stem) for each in listed if each.endswith(".json"))

    @property
    def store(self) -> LakeStore:
        found = store_of(self.shop.in_store)
        assert found is not None
        return found


def rows_in(store: LakeStore, path: str, folder: Path, *columns: str) -> list[dict[str, Any]]:
    """Rows of a table in a store, without the columns that a sync adds where none are named; `folder` is for its files."""
    # Not from the store, which would have to answer in this process: delta-rs lets no other thread of it work while it reads.
    found = DeltaTable(_fetched(store, path, folder))
    names = [each.name for each in found.schema().fields]
    chosen = columns or tuple(each for each in names if not each.startswith("_sync_"))
    listed = ", ".join(f'"{name}"' for name in chosen)
    return pa.table(QueryBuilder().register("t", found).execute(f"SELECT {listed} FROM t").read_all()).to_pylist()


def _fetched(store: LakeStore, path: str, folder: Path) -> Path:
    """A folder with all files of a table."""
    into = Path(tempfile.mkdtemp(dir=folder))
    (into / "_delta_log").mkdir()
    for within in ("", "_delta_log/"):
        for name in store.list_from(f"{path}/{within}".rstrip("/")):
            if name != "_delta_log":
                (into / within / name).write_bytes(store.read(f"{path}/{within}{name}"))
    return into


def shop_in_store(
    postgres: Any,
    database: str,
    folder: Path,
    address: str,
    bucket: str,
    tables: str,
    options: str = "",
    master: str = "",
) -> StoreShop:
    """A shop whose lake is in this bucket; `options` are more keys of its source."""
    shop = StoreShop(postgres, database, folder, address, bucket, master)
    opened_ = Shop.open(postgres, database, folder, tables, options=options)
    assert opened_.config == shop.config
    shop.configure(tables, options)
    return shop
