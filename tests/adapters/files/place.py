"""A folder, a configuration and a real lake: what is synced between them by the whole product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tests.adapters.synced_place import SyncedPlace

HEAD = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  drop:
    dialect: files
    folder: ./in
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
        unfinished = self.folder / "unfinished"
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
        unfinished.rename(path)

    def rows(self, name: str = "orders") -> list[dict[str, Any]]:
        return sorted(super().rows(name), key=lambda row: (row["_file"], row["_file_row"]))

    def quarantined(self, name: str = "orders") -> list[tuple[Any, ...]]:
        """File, number, column and reason, and what the row had."""
        return self.held(name, "_file", "_file_row", "_sync_column", "_sync_reason", "id")
