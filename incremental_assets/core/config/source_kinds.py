"""The kinds of sources, under the name that `dialect` has: a database, topics and files, which are ours, and others by entry point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from incremental_assets.core.config.database_kind import DATABASE
from incremental_assets.core.config.dialects import BUILT_IN, KINDS_GROUP, OTHERS
from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.files_kind import FILES
from incremental_assets.core.config.kafka_kind import KAFKA
from incremental_assets.core.config.rules import Mistake
from incremental_assets.core.config.settings import SourceConfig

Document_contra = TypeVar("Document_contra", bound=SourceDocument, contravariant=True)


class SourceKind(Protocol[Document_contra]):
    """What the configuration must know of a kind of source, which loads nothing that talks to one."""

    capture: str
    """The capture by which all of its tables are read; empty where each table says how it is."""

    @property
    def document(self) -> type[SourceDocument]:
        """The keys that it has in the file."""

    def mistakes(self, document: Document_contra, now: datetime) -> Iterator[Mistake]:
        """What does not fit together, each with its path below the source and its cure."""

    def configured(self, document: Document_contra, source: SourceConfig, folder: Path) -> SourceConfig:
        """The source with its settings; `folder` is that of the file, to which paths are relative."""


_OURS: Mapping[str, SourceKind[Any]] = MappingProxyType({"kafka": KAFKA, "files": FILES})


@cache
def kind_named(dialect: str) -> SourceKind[Any]:
    """The kind of that name: a database, unless this package or an installed one has another."""
    if dialect in _OURS:
        return _OURS[dialect]
    if dialect not in BUILT_IN:
        for entry in entry_points(group=KINDS_GROUP, name=dialect):
            loaded: SourceKind[Any] = entry.load()
            return loaded
    return DATABASE


def other_kinds() -> dict[str, SourceKind[Any]]:
    """Those that are no database, by their names."""
    return {name: kind_named(name) for name in (*OTHERS, *sorted(entry_points(group=KINDS_GROUP).names))}
