"""The manifest of a staged batch: which files it has, how many bytes each and how many rows. What lands is read by it: a file that is gone is not one without rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.core.errors import StageBroken

MANIFEST = "_manifest.json"
"""Hidden from whoever reads the folder as a table."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file of a batch."""

    name: str
    bytes: int
    rows: int


def has_manifest(folder: str) -> bool:
    """Whether a batch there has one: not where only Spark can reach it."""
    return store_of(folder) is not None


def record(folder: str) -> Sequence[StagedFile]:
    """Write the manifest of a batch that has just been staged. Raises FileNotFoundError."""
    store = _store(folder)
    names = sorted(
        name for name in store.list_from(folder) if name.endswith(".parquet") and not name.startswith((".", "_"))
    )
    files = [_file(store, folder, name) for name in names]
    store.put(f"{folder}/{MANIFEST}", json.dumps([asdict(each) for each in files]).encode())
    return files


def _file(store: LakeStore, folder: str, name: str) -> StagedFile:
    # Only here: a look at a manifest does not wait for Arrow.
    import pyarrow.parquet as pq

    key = f"{folder}/{name}"
    found = store.head(key)
    if found is None:
        raise FileNotFoundError(key)
    return StagedFile(name, found.bytes, pq.read_metadata(store.for_arrow(key)).num_rows)


def staged_files(folder: str) -> Sequence[StagedFile]:
    """The files of a batch, all of which are there as they were staged. Raises StageBroken."""
    store, manifest = _store(folder), f"{folder}/{MANIFEST}"
    try:
        files = [StagedFile(**each) for each in json.loads(store.read(manifest))]
    except FileNotFoundError:
        raise _broken(manifest, "is gone") from None
    except (ValueError, TypeError):
        raise _broken(manifest, "is cut") from None
    for each in files:
        key = f"{folder}/{each.name}"
        found = store.head(key)
        if found is None:
            raise _broken(key, "is gone")
        if found.bytes != each.bytes:
            raise _broken(key, f"has {found.bytes} bytes of {each.bytes}")
    return files


def check_rows(folder: str, rows: int) -> None:
    """Checks a batch of so many rows before it lands. Raises StageBroken."""
    found = sum(each.rows for each in staged_files(folder))
    if found != rows:
        raise _broken(f"{folder}/{MANIFEST}", f"tells of {found} rows of {rows}")


def _store(folder: str) -> LakeStore:
    store = store_of(folder)
    if store is None:
        raise _broken(f"{folder}/{MANIFEST}", "cannot be read without Spark")
    return store


def _broken(file: str, what: str) -> StageBroken:
    return StageBroken(
        f"{file} {what}, which this run had staged, so nothing of its batch landed: a run that took the table over, or another program, has been at it; "
        "keep other programs out of that folder, and sync again"
    )
