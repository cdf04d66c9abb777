"""A folder in a store of objects, into which a test drops files: what `Drop` is for a folder of this machine."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore

from incremental_assets.adapters.files.objects import Bucket
from tests.adapters.files.drop import Drop


@dataclass
class StoredDrop(Drop):
    """`folder` is an address."""

    address: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.folder: Any = self.address

    def put(self, name: str, content: str | bytes) -> Path:
        """An object, in place of the one of that key."""
        data = content.encode() if isinstance(content, str) else content
        bucket = Bucket.of(self.address)
        obstore.put(bucket.client, bucket.key(name), gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        return Path(name)

    def remove(self, name: str) -> None:
        bucket = Bucket.of(self.address)
        obstore.delete(bucket.client, [bucket.key(name)])
