"""A folder, a configuration and a real lake: what is synced between them by the whole product."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import obstore

from incremental_assets.adapters.lake_store.objects import client
from tests.adapters.synced_place import SyncedPlace

HEAD = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  drop:
    dialect: files
    folder: ./in
"""
IN_STORE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
stores:
  {bucket}: {{endpoint: "{endpoint}", region: us-east-1, access_key_id: {{file: ./key}}, secret_access_key: {{file: ./secret}}}}
sources:
  drop:
    dialect: files
    folder: s3://{bucket}/in
"""


@dataclass
class Place(SyncedPlace):
    """What a test has."""

    source: ClassVar[str] = "drop"

    def configure(self, text: str) -> None:
        (self.folder / "in").mkdir(exist_ok=True)
        (self.folder / "sources.yaml").write_text(HEAD + text)

    def put(self, name: str, content: str | bytes) -> None:
        """A file, in place of the one of that name."""
        path = self.folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / f"unfinished-{threading.get_ident()}"
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
        unfinished.rename(path)

    def append(self, name: str, content: str) -> None:
        """More at the end of a file."""
        with (self.folder / "in" / name).open("a", encoding="utf-8") as file:
            file.write(content)

    def remove(self, name: str) -> None:
        """A file."""
        (self.folder / "in" / name).unlink()

    def replace(self, name: str, content: str) -> None:
        """A file by another one of the same time."""
        path = self.folder / "in" / name
        times = path.stat()
        self.put(name, content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def rows(self, name: str = "orders") -> list[dict[str, Any]]:
        return sorted(super().rows(name), key=lambda row: (row["_file"], row["_file_row"]))

    def quarantined(self, name: str = "orders") -> list[tuple[Any, ...]]:
        """File, number, column and reason, and what the row had."""
        return self.held(name, "_file", "_file_row", "_sync_column", "_sync_reason", "id")


@dataclass
class StoredPlace(Place):
    """The same with the folder in a bucket."""

    bucket: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def configure(self, text: str) -> None:
        for name, option in (("key", "aws_access_key_id"), ("secret", "aws_secret_access_key")):
            (self.folder / name).write_text(self.options[option])
        head = IN_STORE.format(bucket=self.bucket, endpoint=self.options["aws_endpoint"])
        (self.folder / "sources.yaml").write_text(head + text)

    def put(self, name: str, content: str | bytes) -> None:
        obstore.put(self._client, f"in/{name}", content.encode() if isinstance(content, str) else content)

    def append(self, name: str, content: str) -> None:
        self.put(name, bytes(obstore.get(self._client, f"in/{name}").bytes()) + content.encode())

    def remove(self, name: str) -> None:
        obstore.delete(self._client, [f"in/{name}"])

    def replace(self, name: str, content: str) -> None:
        self.put(name, content)

    @property
    def _client(self) -> Any:
        return client(f"s3://{self.bucket}", self.options)
