"""A lake with one copy of which nothing is Ann's, and her data planted into one place of it at a time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.erasure.prover import Grounds, examine
from incremental_assets.core.model.erasure import Holds, Place
from incremental_assets.core.model.subject import Subject
from incremental_assets.core.model.table_id import TableId

PEOPLE = TableId("shop", "public", "people")
ANN = Subject((("id", "900001"),), (("email", "ann.planted@example.com"),))
ROW = {"id": 900001, "email": "ann.planted@example.com", "city": "Ulm"}


def rows(*more: dict[str, Any]) -> pa.Table:
    others = [{"id": each, "email": f"user{each}@example.com", "city": "Ulm"} for each in (1, 500_000, 999_999)]
    return pa.Table.from_pylist([*others, *more])


@dataclass(frozen=True)
class Planted:
    """`folder` holds the lake, the checkpoint database and Dagster's home."""

    folder: Path

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def grounds(self) -> Grounds:
        return Grounds(
            str(self.lake), PEOPLE, f"sqlite:///{self.database}", self.folder / "home", str(self.lake / "_log" / "shop")
        )

    @property
    def database(self) -> Path:
        return self.folder / "checkpoints.db"

    def table(self, name: str = "people", under: str = "") -> Path:
        return self.lake / under / "shop" / "public" / name

    def found(self) -> dict[Place, set[Holds]]:
        found: dict[Place, set[Holds]] = {}
        for each in examine(self.grounds, (ANN,)).found:
            found.setdefault(each.place, set()).update(each.how)
        return found

    def write(self, path: Path, *more: dict[str, Any], **settings: Any) -> DeltaTable:
        write_deltalake(str(path), rows(*more), mode="append", **settings)
        return DeltaTable(str(path))

    def put(self, path: Path, data: bytes | str | pa.Table) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, pa.Table):
            pq.write_table(data, path, compression="zstd")
        else:
            path.write_bytes(data.encode() if isinstance(data, str) else data)

    def commit(self, path: Path, *actions: dict[str, Any]) -> None:
        version = max(int(each.stem) for each in (path / "_delta_log").glob("0*.json")) + 1
        self.put(path / "_delta_log" / f"{version:020d}.json", "\n".join(map(json.dumps, actions)) + "\n")

    @contextmanager
    def open_database(self) -> Iterator[sqlite3.Connection]:
        store = SqlCheckpoints(f"sqlite:///{self.database}")
        store.positions()
        store.installation()
        store.close()
        connection = sqlite3.connect(self.database, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()
