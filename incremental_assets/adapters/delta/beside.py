"""What lies beside a copy and belongs to it: its quarantine and its history. Each commit of the copy records how far they were, so that one that is gone or older is noticed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log.listing import NO_VERSION, listed
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.history import History
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.target import LastCommit


@dataclass(frozen=True, slots=True)
class Beside:
    """The last version of a copy's quarantine, and the version of the copy that its history shows; None where there is none, and for a lake that only Spark can reach."""

    quarantine: int | None = None
    history: int | None = None

    def noted(self, note: CommitMetadata) -> CommitMetadata:
        """A commit's metadata with this in it."""
        return replace(note, quarantine=self.quarantine, history=self.history)


def beside(lake: str, spec: TableSpec, copy: TableLog) -> Beside:
    """As they are found now."""
    if store_of(lake) is None:
        return Beside()
    last = quarantine_version(lake, spec)
    return Beside(None if last == NO_VERSION else last, _shown(lake, spec, copy))


def recorded(copy: TableLog) -> Beside:
    """As our newest commit has recorded them."""
    newest = next(copy.ours(), None)
    note = newest.note if newest else None
    return Beside(note.quarantine, note.history) if note else Beside()


def lacking(lake: str, spec: TableSpec, copy: TableLog) -> str:
    """What of a quarantine is gone, older than recorded or changed by others since, as the first words of a sentence; empty where nothing is."""
    then, place = recorded(copy).quarantine, quarantine_path(lake, spec.id)
    if then is None or store_of(lake) is None:
        return ""
    what = _harm(lake, spec, then)
    return f"its quarantine at {place} {what}, and rows that no copy holds with it" if what else ""


def is_quarantine_whole(lake: str, spec: TableSpec, last: LastCommit | None) -> bool:
    """Whether it is as the copy's last commit says, and nobody has changed it since. Raises TargetChanged."""
    return last is None or last.quarantine is None or not _harm(lake, spec, last.quarantine)


def _harm(lake: str, spec: TableSpec, then: int) -> str:
    """What has become of a quarantine that was at a version, as words behind its name; empty where it is whole."""
    last = quarantine_version(lake, spec)
    if last <= then:
        return "" if last == then else "is gone" if last == NO_VERSION else "was restored from an older copy"
    log = open_log(quarantine_path(lake, spec.id))
    other = log.changed_by_others(then) if log else None
    return (
        f"was changed by another writer ({other.operation} in version {other.version} by {other.engine})"
        if other
        else ""
    )


def check_history(spec: TableSpec, path: str, copy: TableLog, history: TableLog) -> None:
    """Raises TargetChanged for a history that shows less of the copy than a commit of the copy has recorded."""
    then, shown = recorded(copy).history, shown_version(copy, history)
    if then is not None and (shown is None or shown < then):
        raise TargetChanged(
            f"{spec.id}: the history at {path} was restored from an older copy, and lacks versions that it had; put the newer one back, or move it away: "
            "a new one begins with the copy as it is"
        )


def check_own_history(spec: TableSpec, path: str, history: TableLog) -> None:
    """Raises TargetChanged for a history that another writer has changed behind our newest commit, whose successor would cover it up."""
    other = history.changed_behind_us()
    if other is not None:
        raise TargetChanged(
            f"{spec.id}: the history at {path} was changed by another writer ({other.operation} in version {other.version} by {other.engine}), so that it no longer "
            f"tells what was so; put it back as it was (RESTORE TABLE delta.`{path}` TO VERSION AS OF {history.own_version}), or move it away: a new one begins with the copy as it is"
        )


def has_lost_its_history(copy: TableLog, history: TableLog | None) -> bool:
    """Whether a history had shown this copy, and there is none. It may have been moved away: a new one begins."""
    return history is None and recorded(copy).history is not None


def quarantine_version(lake: str, spec: TableSpec) -> int:
    """The last version of a quarantine, by a listing; -1 where there is none. Raises TargetChanged."""
    try:
        return listed(quarantine_path(lake, spec.id)).last
    except FileNotFoundError:
        return NO_VERSION


def shown_version(copy: TableLog, history: TableLog | None) -> int | None:
    """The last version of the copy that the history shows. An older copy of that table, put in its place, has fewer versions: nothing is known then."""
    found = -1 if history is None else history.last_sequence(copy.table_id)
    return found if 0 <= found <= copy.version else None


def _shown(lake: str, spec: TableSpec, copy: TableLog) -> int | None:
    return None if spec.history is History.NONE else shown_version(copy, open_log(table_path(lake, spec.id.history)))
