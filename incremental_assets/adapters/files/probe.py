"""Light questions to a folder: which tables there are, which files have come, and how long they have waited."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from incremental_assets.adapters.files.formats import columns_of
from incremental_assets.adapters.files.ledger import Ledger
from incremental_assets.adapters.files.listing import Listed, listed
from incremental_assets.adapters.files.opened import Opening
from incremental_assets.adapters.files.shapes import Described, declared, shape_of, together
from incremental_assets.core.captures.files.observation import FilesSeen
from incremental_assets.core.captures.files.position import FilesPosition
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.dropped_file import Changed, DroppedFile
from incremental_assets.core.model.moment import Free
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import Strategy

_SAMPLED = 500
"""Files that came last, which name a table's columns."""


@dataclass
class FilesProbe:
    """Implements `core.ports.Probe`."""

    folder: str
    name: str
    """The source's."""
    files: Mapping[TableId, tuple[Files, Strategy]]
    ledgers: Mapping[TableId, Ledger]
    rows: None = None
    _told: dict[TableId, dict[DroppedFile, Described]] = field(default_factory=dict)

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every table that is configured. Of one whose files name its columns those that came last are asked."""
        return tuple(
            shape_of(self.name, files, strategy, declared(files) or self._described(table, files))
            for table, (files, strategy) in self.files.items()
        )

    def bound(self) -> Free:
        """Nothing holds back a folder."""
        return Free(datetime.now(UTC))

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[FilesSeen, ...]:
        """The files of each."""
        return tuple(self._seen(look.spec.id) for look in looks)

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """Since when the oldest file is there that has not landed."""
        now = time.time()
        return tuple(self._lag(look, now) for look in looks)

    def _lag(self, look: ObserveRequest, now: float) -> float:
        at = look.state.position if look.state else None
        position = at if isinstance(at, FilesPosition) else FilesPosition()
        changed = self.files[look.spec.id][0].changed is not Changed.IGNORE
        oldest = self._listed(look.spec.id).oldest(position, changed=changed)
        return 0.0 if oldest is None else max(0.0, now - oldest)

    def _seen(self, table: TableId) -> FilesSeen:
        files, _ = self.files[table]
        moment = Free(datetime.now(UTC))
        return FilesSeen(files.path, self._listed(table), moment, files.settle, files.changed)

    def _listed(self, table: TableId) -> Listed:
        return listed(self.folder, self.files[table][0], table, self.ledgers[table], time.time())

    def _described(self, table: TableId, files: Files) -> Described:
        try:
            last = self._listed(table).last(_SAMPLED)
            known = self._told.get(table, {})
            told = self._columns_of(table, files, [each for each in last if each not in known])
            self._told[table] = {each: known.get(each) or told[each] for each in last}
        except SourceRefused as error:
            return Described({}, why=str(error).removeprefix(f"{table}: "))
        found = together(self._told[table].values())
        if not found.columns and not found.why:
            return Described(
                {},
                why=f"no file that fits {files.path!r} says what columns it has; "
                + (
                    "wait for the first file"
                    if files.format.names_types
                    else "write them as `columns`, or wait for the first file"
                ),
            )
        return found

    def _columns_of(self, table: TableId, files: Files, new: Sequence[DroppedFile]) -> dict[DroppedFile, Described]:
        told = {}
        for file, to_open in Opening(self.folder, table).each(new):
            with to_open as opened:
                told[file] = columns_of(files, file.path, opened) or Described({})
        return told
