"""Which tables of a source are read from its log: beside the segments, so that whoever reads a range decodes it for all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from incremental_assets.adapters.logs.disk import RESTORE, read_from, written_to
from incremental_assets.adapters.new_file import new_file, sync_folder
from incremental_assets.core.errors import LakeRefused

_FILE = "followed.json"


@dataclass(frozen=True, slots=True)
class Followed:
    """A table whose changes are wanted, by its number in the source. `key`: by what its rows are identified in the copy; empty where all changes are kept."""

    oid: int
    key: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    """Columns that are not read."""
    old_rows: bool = False
    """Whether rows that are gone are wanted with all that the log has of them, and not by their key alone."""


@dataclass(frozen=True, slots=True)
class Following:
    """A table. `joined` tells how it belongs to the publication; by transaction `next_xid` it did so for all that began. Up to `landed` it needs no segment any more."""

    oid: int
    key: tuple[str, ...]
    left_out: tuple[str, ...]
    joined: str
    next_xid: int
    landed: int = 0
    old_rows: bool = False

    @property
    def followed(self) -> Followed:
        """As the decoder takes it."""
        return Followed(self.oid, self.key, frozenset(self.left_out), self.old_rows)

    def is_as(self, other: Following) -> bool:
        """Whether the changes that are decoded for both are the same, and none is missing between them."""
        mine, others = ((each.oid, each.key, each.left_out, each.joined, each.old_rows) for each in (self, other))
        return mine == others


@dataclass(frozen=True, slots=True)
class Record:
    """All tables by their numbers in the source, and the name of the last segment that was there."""

    tables: Mapping[int, Following] = field(default_factory=dict)
    last: str = ""

    @property
    def passed(self) -> int:
        """What every table has landed."""
        return min((each.landed for each in self.tables.values()), default=0)

    def follow(self, table: Following) -> Record:
        """With a table, from now on; one that is known stays as it is where that is the same, as it has been followed for longer."""
        before = self.tables.get(table.oid)
        if before is not None and before.is_as(table):
            return self
        # Until a load of it has landed, its copy goes on from where it was.
        return replace(self, tables={**self.tables, table.oid: replace(table, landed=before.landed if before else 0)})

    def from_now(self, next_xid: int) -> Record:
        """With each table as one that is followed since this number was the next."""
        return replace(self, tables={oid: replace(each, next_xid=next_xid) for oid, each in self.tables.items()})

    def has_landed(self, oid: int, position: int) -> Record:
        """With how far a table's copy has come."""
        return replace(self, tables={**self.tables, oid: replace(self.tables[oid], landed=position)})


def record_in(folder: Path) -> Record:
    """Raises LakeRefused."""
    path = folder / _FILE
    try:
        with read_from(path):
            found = json.loads(path.read_text(encoding="utf-8"))
        return Record({each.oid: each for each in map(_of, found["tables"])}, str(found["last"]))
    except FileNotFoundError:
        return Record()
    except (ValueError, KeyError, TypeError):
        raise LakeRefused(f"{path} does not say which tables are read from the log; {RESTORE}") from None


def forget(folder: Path) -> Record:
    """What was kept cannot be read: nobody is followed."""
    with written_to(folder):
        (folder / _FILE).unlink()
    return Record()


def record(folder: Path, before: Record, now: Record) -> None:
    """Keep it, where it is another one."""
    if before == now:
        return
    fresh = folder / f"{_FILE}.new"
    with written_to(folder):
        fresh.unlink(missing_ok=True)
        with new_file(fresh) as file:
            tables = [asdict(each) for each in now.tables.values()]
            file.write(json.dumps({"last": now.last, "tables": tables}, indent=1).encode())
        fresh.replace(folder / _FILE)
        sync_folder(folder)


def _of(found: Mapping[str, object]) -> Following:
    key, left_out = (tuple(map(str, found[name])) for name in ("key", "left_out"))  # type: ignore[call-overload]
    oid, next_xid, landed = (int(str(found[name])) for name in ("oid", "next_xid", "landed"))
    return Following(oid, key, left_out, str(found["joined"]), next_xid, landed, found.get("old_rows") is True)
