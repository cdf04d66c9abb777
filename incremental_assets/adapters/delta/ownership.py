"""Which installation writes a table of the lake: a small file beside the locks that another installation finds before it writes or removes anything.

Two installations with a checkpoint database each know nothing of each other's leases: each would take the other's staged batch for a dead run's. The file is
written once, and in a folder touched by whoever writes the table, and is not looked at while nothing is written. It is put there only if there is none, and
replaced as a whole. A copy that the configuration puts elsewhere has a second one, of its folder, which is another table's in another configuration.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore, NotOffered
from incremental_assets.core.errors import LakeRefused, TargetChanged
from incremental_assets.core.model.cures import take_over
from incremental_assets.core.model.installation import Installation
from incremental_assets.core.model.paths import folder_owner_path, owner_path, owner_paths_around
from incremental_assets.core.model.table_id import TableId

_log = logging.getLogger(__name__)


class Ownership:
    """The owners of the tables of one lake. Without an installation (a lake that a test opens by itself) nothing is asked."""

    def __init__(self, lake: str, installation: Callable[[], Installation] | None = None) -> None:
        self._lake, self._installation = lake, installation

    def check(self, table: TableId) -> None:
        """Claim a table that nobody owns, and the folder of its copy. Raises LakeRefused where another installation owns one, before anything is written or removed.

        A checkpoint database that stands where the owner's stood has taken its place: that one is lost, and this one goes on from the lake.
        """
        store = store_of(self._lake)
        if self._installation is None or store is None:
            return
        us = self._installation()
        found = {key: _read(store, key, table) for key in _keys(self._lake, table)}
        # A lake that begins above or below this one may have put a copy into the same folder: that is asked once for each table.
        asked = (
            found.items()
            if found[folder_owner_path(self._lake, table)]
            else [*found.items(), *_around(store, self._lake, table)]
        )
        for key, owner in asked:
            if owner is not None and us.is_kept_out_by(owner):
                raise self._refused(store, key, table, us, owner)
        for key, owner in found.items():
            self._claim(store, key, table, us, owner)

    def _claim(self, store: LakeStore, key: str, table: TableId, us: Installation, owner: Installation | None) -> None:
        if owner is None:
            owner = us if _put_if_absent(store, key, us) else _read(store, key, table) or us
            if us.is_kept_out_by(owner):
                raise self._refused(store, key, table, us, owner)
        if owner == us:
            store.touch(key)
            return
        if owner.id != us.id:
            _log.warning(
                "%s: the checkpoint database %s is a new one, which takes the table over", table, us.checkpoints
            )
        _replace(store, key, us.after(owner))

    def _refused(
        self, store: LakeStore, key: str, table: TableId, us: Installation, owner: Installation
    ) -> LakeRefused:
        # Its place was taken while it lived: a name that stands for a server here and for another one elsewhere, as in two clusters of containers.
        same = ", another one of the same address" if owner.place == us.place else ""
        return LakeRefused(
            f"{table}: another installation writes this table of the lake {self._lake}: {owner}{same}, last {_touched(store, key)}; this one is {us}, and it has "
            f"written and removed nothing; give each a `lake` of its own, or if the other one is gone, take the table over with {take_over(table)}"
        )

    def take(self, table: TableId) -> Installation | None:
        """Make this installation the owner of a table; who owned it before, None where nobody did."""
        store = store_of(self._lake)
        if self._installation is None or store is None:
            return None
        us, found = self._installation(), dict(_around(store, self._lake, table))
        for key in _keys(self._lake, table):
            with suppress(LakeRefused):
                if (owner := _read(store, key, table)) is not None:
                    found[key] = owner
        for key in (*_keys(self._lake, table), *found):
            _replace(store, key, us.after(found[key]) if key in found else us)
        return next((owner for owner in found.values() if owner != us), None)


def _keys(lake: str, table: TableId) -> tuple[str, ...]:
    """By the table's name, under which its batches are, and by the folder of its copy; mostly they are one."""
    return tuple(dict.fromkeys((owner_path(lake, table), folder_owner_path(lake, table))))


def _around(store: LakeStore, lake: str, table: TableId) -> Iterator[tuple[str, Installation]]:
    """Owners of the folder by other lakes. What may not be read there is of no lake that this installation could meet."""
    for key in owner_paths_around(lake, table):
        with suppress(LakeRefused, TargetChanged):
            if (owner := _read(store, key, table)) is not None:
                yield key, owner


def _read(store: LakeStore, key: str, table: TableId) -> Installation | None:
    try:
        text = store.read(key).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    owner = Installation.from_json(text)
    if owner is None:
        raise LakeRefused(
            f"{table}: {key} does not say which installation writes this table, as it is cut or no file of this program's; restore it, or take the table over with {take_over(table)}"
        )
    return owner


def _put_if_absent(store: LakeStore, key: str, owner: Installation) -> bool:
    store.own_folder(key.rpartition("/")[0])
    try:
        return store.put_if_absent(key, owner.to_json().encode())
    except NotOffered:
        # Of two that come first at the same moment, the later one is the owner.
        _replace(store, key, owner)
        return True


def _replace(store: LakeStore, key: str, owner: Installation) -> None:
    store.own_folder(key.rpartition("/")[0])
    store.replace(key, owner.to_json().encode())


def _touched(store: LakeStore, key: str) -> str:
    found = store.head(key)
    return "at an unknown time" if found is None else f"{found.at:%Y-%m-%d %H:%M:%S}Z"
