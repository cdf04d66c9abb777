"""Which files a table has been made of: the pages of its ledger, each a file of the lake that is never written again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.position import Position
from incremental_assets.core.words import counted


@dataclass(frozen=True, slots=True)
class Page:
    """Some files that have landed. What a later page says of a path counts."""

    name: str
    files: int


@dataclass(frozen=True, slots=True)
class FilesPosition(Position):
    """Implements `Position`. Empty before the first load, and after a reset."""

    capture: ClassVar[str] = "files"
    pages: tuple[Page, ...] = ()
    last: str = ""
    """The greatest path of all files that have landed."""
    overlaps: bool = False
    """Whether the copy may have rows of files that no page names, as after a reset."""

    @property
    def files(self) -> int:
        """How many have landed; one that landed again counts once more until its pages become one."""
        return sum(page.files for page in self.pages)

    def __str__(self) -> str:
        return counted(self.files, "file") if self.pages else "no file"

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> FilesPosition:
        """All files are read again; the copy still has their rows."""
        return FilesPosition(overlaps=True)

    def forgotten(self) -> FilesPosition:
        """From the beginning, into whatever there is."""
        return FilesPosition(overlaps=True)

    def unchecked(self) -> FilesPosition:
        """Rows may be there of files that no page names."""
        return replace(self, overlaps=True)

    def to_json(self) -> dict[str, Any]:
        """The names of the pages."""
        pages = [[page.name, page.files] for page in self.pages]
        return {"position": {"pages": pages, "last": self.last, "overlaps": self.overlaps}}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> FilesPosition:
        """Read it back from a state's document."""
        own = document["position"]
        return cls(tuple(Page(name, files) for name, files in own["pages"]), own["last"], own["overlaps"])
