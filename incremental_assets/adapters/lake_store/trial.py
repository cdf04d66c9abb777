"""A file that is put into a lake, listed, read and removed again, before anything depends on it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from incremental_assets.adapters.lake_store.store import LakeStore, NotOffered
from incremental_assets.core.errors import LakeRefused


@dataclass(frozen=True, slots=True)
class Trial:
    """What stops no sync. `kept`: why the file may not be removed again, empty where it may. `keeps_versions`: whether the place keeps what is removed."""

    kept: str
    keeps_versions: bool


def tried(store: LakeStore, lake: str) -> Trial:
    """Raises LakeRefused for a lake that may not be written, listed or read, or where two writers would both have put one file; StoreUnreachable, ConfigurationError."""
    folder = f"{lake}/.{uuid.uuid4()}.trial"
    key = f"{folder}/file"
    try:
        store.put_if_absent(key, key.encode())
    except NotOffered as why:
        raise LakeRefused(f"{lake}: no commit of ours can be made there, as {why}; choose another place") from None
    kept, found = "", None
    try:
        store.list_from(folder)
        store.read(key)
        found = store.head(key)
    finally:
        try:
            store.delete(key)
        except LakeRefused as error:
            kept = str(error)
    return Trial(kept, keeps_versions=found is not None and bool(found.version))
