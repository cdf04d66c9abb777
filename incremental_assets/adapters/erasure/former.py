"""Where else in the lake the copy of a table and its history lay: another `target` leaves them as they were, and what the configuration has said is kept nowhere for sure. Each Delta table of ours says whose it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId

_LOG = "/_delta_log/"
_HIDDEN = "_"
"""What folders of the lake begin with that hold something else than copies."""

Ids = Mapping[TableId, AbstractSet[str]]
"""Of each table that the checkpoint database knows, all names under which its syncs have committed, and those of the Delta tables that they have made."""


@dataclass(frozen=True, slots=True)
class Former:
    """`copies` and `histories`: folders that nothing but this table has written. `others`: those that are another table's now. `unclear`: sentences on what nobody can tell."""

    copies: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    others: Mapping[str, TableId] = field(default_factory=dict)
    unclear: tuple[str, ...] = ()

    @property
    def ours(self) -> tuple[str, ...]:
        """What may be rewritten under the lease of the table."""
        return (*self.copies, *self.histories)

    @property
    def all(self) -> tuple[str, ...]:
        """What is to be looked through."""
        return (*self.ours, *self.others)


def former_places(store: LakeStore, lake: str, table: TableId, made: Ids) -> Former:
    """All that the lake has, by one listing of it."""
    present = {table_path(lake, table), table_path(lake, table.history)}
    taken = {table_path(lake, each): other for other in made if other != table for each in (other, other.history)}
    logs, unclear = dict[str, TableLog](), list[str]()
    for folder in _folders(store, lake):
        if folder not in present:
            try:
                found = open_log(folder)
            except TargetChanged as error:
                if folder not in taken:
                    unclear.append(f"{error}; nobody can tell whose rows are there")
                continue
            if found is not None:
                logs[folder] = found
    mine = set(made.get(table, ()))
    copies = {folder: log for folder, log in logs.items() if log.app_id in mine}
    mine |= {log.table_id for log in copies.values()}
    histories = [
        folder for folder, log in logs.items() if not log.app_id and any(log.last_sequence(each) >= 0 for each in mine)
    ]
    of_nobody = {log.app_id for log in logs.values() if log.app_id} - set().union(*made.values())
    unclear += [
        f"{folder}: a copy that no table of the checkpoint database has made; where the rows of this table lay there, remove that folder"
        for folder, log in logs.items()
        if log.app_id in of_nobody and folder not in taken
    ]
    others = {folder: taken[folder] for folder in (*copies, *histories) if folder in taken}
    return Former(_without(copies, others), _without(histories, others), others, tuple(unclear))


def _without(folders: Iterable[str], others: Mapping[str, TableId]) -> tuple[str, ...]:
    return tuple(each for each in folders if each not in others)


def _folders(store: LakeStore, lake: str) -> Iterator[str]:
    root = lake.rstrip("/")
    names = (name for name, _ in store.files_in(root) if _LOG in f"/{name}" and not name.startswith(_HIDDEN))
    yield from dict.fromkeys(f"{root}/{name.rpartition(_LOG)[0]}" for name in names)
