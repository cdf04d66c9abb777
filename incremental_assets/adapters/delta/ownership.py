"""Which installation writes a table of the lake: a small file beside the locks that another installation finds before it writes or removes anything.

Two installations with a checkpoint database each know nothing of each other's leases: each would take the other's staged batch for a dead run's. The file is
written once and touched by whoever writes the table, and is not looked at while nothing is written. It is put there only if there is none, and replaced
as a whole: what a store of objects can do as well, where this is not looked at yet.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from incremental_assets.adapters.lake_store.local import LocalStore
from incremental_assets.adapters.new_file import new_file, sync_folder
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.cures import take_over
from incremental_assets.core.model.installation import Installation
from incremental_assets.core.model.paths import is_local, owner_path
from incremental_assets.core.model.table import TableId

_log = logging.getLogger(__name__)


class Ownership:
    """The owners of the tables of one lake. Without an installation (a lake that a test opens by itself) nothing is asked."""

    def __init__(self, lake: str, installation: Callable[[], Installation] | None = None) -> None:
        self._lake, self._installation = lake, installation

    def check(self, table: TableId) -> None:
        """Claim a table that nobody owns. Raises LakeRefused where another installation does, before anything is written or removed.

        A checkpoint database that stands where the owner's stood has taken its place: that one is lost, and this one goes on from the lake.
        """
        if self._installation is None or not is_local(self._lake):
            return
        us, file = self._installation(), Path(owner_path(self._lake, table))
        owner = _read(file, table) or (us if _put_if_absent(file, us) else _read(file, table))
        if owner is not None and owner.id != us.id and owner.place != us.place:
            raise LakeRefused(
                f"{table}: another installation writes this table of the lake {self._lake}: {owner}, last {_touched(file)}; this one is {us}, and it has "
                f"written and removed nothing; give each a `lake` of its own, or if the other one is gone, take the table over with {take_over(table)}"
            )
        if owner == us:
            with suppress(OSError):
                os.utime(file)
            return
        if owner is not None and owner.id != us.id:
            _log.warning(
                "%s: the checkpoint database %s is a new one, which takes the table over", table, us.checkpoints
            )
        _replace(file, us)

    def take(self, table: TableId) -> Installation | None:
        """Make this installation the owner of a table; who owned it before, None where nobody did."""
        if self._installation is None or not is_local(self._lake):
            return None
        us, file = self._installation(), Path(owner_path(self._lake, table))
        owner = None
        with suppress(LakeRefused):
            owner = _read(file, table)
        _replace(file, us)
        return None if owner == us else owner


def _read(file: Path, table: TableId) -> Installation | None:
    try:
        text = LocalStore().read(str(file)).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    owner = Installation.from_json(text)
    if owner is None:
        raise LakeRefused(
            f"{table}: {file} does not say which installation writes this table, as it is cut or no file of this program's; restore it, or take the table over with {take_over(table)}"
        )
    return owner


def _put_if_absent(file: Path, owner: Installation) -> bool:
    own_folder(file.parent)
    temporary = _written(file, owner)
    try:
        os.link(temporary, file)
    except FileExistsError:
        return False
    except OSError:
        # A file system without hard links: of two that come first at the same moment, the later one is the owner.
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(file.parent)
    return True


def _replace(file: Path, owner: Installation) -> None:
    own_folder(file.parent)
    _written(file, owner).replace(file)
    sync_folder(file.parent)


def _written(file: Path, owner: Installation) -> Path:
    temporary = file.with_name(f".{file.name}.{uuid.uuid4()}.tmp")
    with new_file(temporary) as opened:
        opened.write(owner.to_json().encode())
    return temporary


def _touched(file: Path) -> str:
    try:
        return f"{datetime.fromtimestamp(file.stat().st_mtime, UTC):%Y-%m-%d %H:%M:%S}Z"
    except OSError:
        return "at an unknown time"
