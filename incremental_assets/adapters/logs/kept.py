"""What is kept beside the segments of which tables are read, as a look, a load and a read ask for it: whichever database the log is of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from incremental_assets.adapters.logs.disk import RESTORE, written_to
from incremental_assets.adapters.logs.following import Record, forget, record, record_in
from incremental_assets.adapters.logs.log_of_source import Copy
from incremental_assets.adapters.logs.segments.manifest import Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.errors import IncrementalAssetsError, LakeRefused, SourceExchanged, SourceRefused
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.table import TableSpec


def is_whole(shelf: Shelf, known: Record) -> bool:
    """Whether the last segment that was there still is."""
    return not known.last or known.last in shelf.names()


def recorded(folder: Path) -> Record:
    """Which tables are followed. Raises LakeRefused, also where the last segment that was there is no more."""
    found, shelf = record_in(folder), Shelf(folder)
    if not is_whole(shelf, found):
        raise LakeRefused(f"{shelf.segments / found.last} is missing, a range of the log; {RESTORE}")
    return found


def landed(folder: Path, copies: Sequence[Copy]) -> tuple[Record, dict[int, LakeRefused]]:
    """The same, with how far these copies have come, and by their numbers why those that are none of them cannot go on. Raises LakeRefused."""
    known, unknown = recorded(folder), dict[int, LakeRefused]()
    for each in copies:
        if each.number in known.tables:
            known = known.has_landed(each.number, each.position)
        else:
            unknown[each.number] = LakeRefused(
                f"{each.spec.id}: {folder} has no record of it, so that changes which were read of the log may be missing there; "
                f"restore the folder from a backup of the lake, or load the table again with {full_refresh(each.spec)}"
            )
    return known, unknown


def left(folder: Path) -> tuple[Record, Standing | None]:
    """Which tables are followed, and up to where the log was read. What cannot be read here is as if it were not there: a load begins anew then."""
    try:
        known = record_in(folder)
    except LakeRefused:
        known = forget(folder)
    return known, standing_if_any(Shelf(folder))


def standing_if_any(shelf: Shelf) -> Standing | None:
    """Up to where the log was read; None where it was not, or the segments do not say so."""
    try:
        return shelf.standing()
    except LakeRefused:
        return None


def landed_alone(folder: Path, copy: Copy) -> Record:
    """The same of one. Raises LakeRefused, also where it cannot go on."""
    known, unknown = landed(folder, [copy])
    for error in unknown.values():
        raise error
    return known


@contextmanager
def following(folder: Path, known: Record) -> Iterator[Path]:
    """A range is read in the block: the tables are on disk before one is decoded for them, and the range before its name is. Yields a folder for what is on its way."""
    with written_to(folder):
        own_folder(folder)
        scratch = own_folder(folder / "scratch")
    record(folder, record_in(folder), known)
    yield scratch
    record(folder, known, replace(known, last=(Shelf(folder).names() or [""])[-1]))


def followed(folder: Path) -> tuple[Record, str]:
    """Which tables are followed, or why that cannot be read."""
    try:
        return record_in(folder), ""
    except LakeRefused as error:
        return Record(), str(error)


def standing_and_why_not(shelf: Shelf, check: Callable[[Standing | None], None]) -> tuple[Standing | None, str]:
    """Up to where the log was read, and why it cannot be gone on with; `check` raises that."""
    try:
        standing = shelf.standing()
    except LakeRefused as error:
        return None, str(error)
    refused = refusal(lambda: check(standing))
    return standing, str(refused) if refused else ""


def last_commit(shelf: Shelf) -> datetime | None:
    """When the last transaction of the segments was committed."""
    # Whether they can be read is said beside it.
    with suppress(LakeRefused):
        for name in reversed(shelf.names()):
            at = shelf.manifest(name).last_commit_at
            if at is not None:
                return at
    return None


def refusal(check: Callable[[], None]) -> IncrementalAssetsError | None:
    """What a check raises of the source."""
    try:
        check()
    except (SourceRefused, SourceExchanged) as error:
        return error
    return None


def of_table(spec: TableSpec, error: IncrementalAssetsError) -> IncrementalAssetsError:
    """The same, said of one table."""
    return type(error)(f"{spec.id}: {error}")
