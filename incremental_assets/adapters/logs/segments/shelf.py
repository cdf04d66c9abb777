"""The segments of one source, in `{lake}/_log/{source}/`: which are there, up to where the log was read, and which may go."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from incremental_assets.adapters.logs.disk import RESTORE, read_from, written_to
from incremental_assets.adapters.logs.segments.files import read_file, read_groups
from incremental_assets.adapters.logs.segments.manifest import (
    FILE,
    Manifest,
    Standing,
    end_of,
    is_name,
    standing_from,
    standing_text,
)
from incremental_assets.adapters.logs.segments.writing import Segment
from incremental_assets.adapters.new_file import new_file, sync_folder
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.cures import LOAD_AGAIN

_STANDING = "standing.json"
_GOING = "going-"
"""How the name of a segment begins that is being removed."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """One process at a time writes here, under the lease of the source. Whoever reads needs none."""

    folder: Path

    @property
    def segments(self) -> Path:
        """The folder that has one for each segment."""
        return self.folder / "segments"

    @contextmanager
    def segment(self) -> Iterator[Segment]:
        """One to be written, which takes no place where it is not finished. Raises LakeRefused."""
        with written_to(self.folder):
            own_folder(self.segments)
            segment = Segment(self.segments)
            try:
                yield segment
            finally:
                segment.discard()

    def names(self) -> list[str]:
        """Of the segments, in their order."""
        with suppress(FileNotFoundError), read_from(self.segments):
            # Whatever else lies there, such as what a file manager leaves, is none.
            return sorted(each.name for each in self.segments.iterdir() if is_name(each.name))
        return []

    def manifest(self, name: str) -> Manifest:
        """Raises LakeRefused where it is missing or unreadable."""
        path = self.segments / name / FILE
        try:
            with read_from(path):
                found = Manifest.from_json(path.read_text(encoding="utf-8"))
            if found.name != name:
                raise ValueError("another segment's")  # noqa: TRY301 (the sentence is the same)
        except FileNotFoundError:
            raise LakeRefused(
                f"{path} is missing, so that nobody knows what that range of the log holds; {RESTORE}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LakeRefused(f"{path} is no manifest of a segment that this release can read; {RESTORE}") from None
        return found

    def standing(self) -> Standing | None:
        """Up to where the log was read, by the last segment or by a later range that was empty; None before the first."""
        names, beside = self.names(), self._beside()
        last = self.manifest(names[-1]).standing if names else None
        if last is None or beside is None:
            return last or beside
        return beside if beside.number > last.number else last

    def last_number(self) -> int:
        """Of the segments, by the name of the last one, which need not be readable; 0 where there is none."""
        names = self.names()
        return int(names[-1].partition("-")[0]) if names else 0

    def stand(self, standing: Standing) -> None:
        """Record a position without a segment: before the first range, and behind one that was empty."""
        path = self.folder / _STANDING
        fresh = path.with_suffix(".new")
        with written_to(self.folder):
            own_folder(self.folder)
            fresh.unlink(missing_ok=True)
            with new_file(fresh) as file:
                file.write(standing_text(standing).encode())
            fresh.replace(path)
            sync_folder(self.folder)

    def after(self, position: int) -> Iterator[Manifest]:
        """The segments that end behind a position, in order. Raises LakeRefused where one is missing, or the log was not read so far here."""
        self._check_reached(position)
        found: list[Manifest] = []
        # From the last one back: a log that began anew may have lower places than the one before it, whose segments are none of this one.
        for name in reversed(self.names()):
            if found and found[-1].follows != name:
                raise LakeRefused(
                    f"{self.segments / found[-1].follows} is missing, a range of the log up to {lsn_text(found[-1].begin)}; {RESTORE}"
                )
            manifest = self.manifest(name)
            if manifest.end <= position:
                break
            found.append(manifest)
        else:
            if found and position < found[-1].before:
                raise LakeRefused(
                    f"the log from {lsn_text(position)} to {lsn_text(found[-1].before)} is no more in {self.segments}: the table has not landed it while it was kept; "
                    f"load it again with {LOAD_AGAIN}"
                )
        yield from reversed(found)

    def _check_reached(self, position: int) -> None:
        standing = self.standing()
        reached = standing.position if standing else 0
        if position > reached:
            raise LakeRefused(
                f"{self.folder} has the log up to {lsn_text(reached)}, and the copy has landed it up to {lsn_text(position)}, so that the folder is not the one from which it did: "
                f"restore it from a backup of the lake that is as young as the copy, or load the table again with {LOAD_AGAIN}"
            )

    def rows(self, manifest: Manifest, oid: int) -> Iterator[pa.Table]:
        """The changes of a table, some thousands of one layout at a time, in order. Raises LakeRefused where a file is not as it was written."""
        for piece in manifest.pieces:
            if piece.oid == oid:
                yield from read_groups(self.segments / manifest.name, piece.file)

    def transactions(self, manifest: Manifest) -> pa.Table:
        """Numbers, commits and sizes of its transactions. Raises LakeRefused likewise."""
        return read_file(self.segments / manifest.name, manifest.transactions)

    def prune(self, landed: int, keep: timedelta, now: datetime) -> tuple[str, ...]:
        """Remove the segments that all tables have landed and that are older than `keep`, from the oldest on; the last one stays, as it says where we are. Their names."""
        self._finish_removing()
        removed = []
        for name in self.names()[:-1]:
            # By its name and its folder: one that cannot be read goes as well.
            written = datetime.fromtimestamp((self.segments / name).stat().st_mtime, UTC)
            if end_of(name) > landed or now - written < keep:
                break
            # Under another name first: what is removed in part is no segment.
            (self.segments / name).rename(self.segments / f"{_GOING}{name}")
            removed.append(name)
        self._finish_removing()
        return tuple(removed)

    def bytes(self) -> int:
        """What the segments take on disk."""
        found = 0
        for each in self.segments.glob("*/*") if self.segments.exists() else ():
            # A sync may remove segments meanwhile.
            with suppress(FileNotFoundError):
                found += each.stat().st_size
        return found

    def _finish_removing(self) -> None:
        for left in self.segments.glob(f"{_GOING}*"):
            shutil.rmtree(left, ignore_errors=True)

    def _beside(self) -> Standing | None:
        path = self.folder / _STANDING
        try:
            with read_from(path):
                return standing_from(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise LakeRefused(f"{path} does not say up to where the log was read; {RESTORE}") from None
