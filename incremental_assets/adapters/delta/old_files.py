"""Files of a table that no version needs any more which readers may still ask for: what `VACUUM` removes, by our own reading of the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.checkpoint import LOG
from incremental_assets.adapters.delta.log.listing import Listing, commit_name, listed
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.log.referenced import referenced, removed_before
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.retention import (
    DELTAS_OWN,
    OldFiles,
    StoredFile,
    current_at,
    interval,
    kept_for,
    unneeded,
)

_PROPERTY = "delta.deletedFileRetentionDuration"
_CHANGES = "_change_data"
"""The one folder with a hidden name in which Delta keeps files that it removes again."""
_ROWS, _VECTORS = ".parquet", "deletion_vector_"
"""How names end of files with rows and changes, and how those of deletion vectors begin. What else lies in the folder is somebody's own."""
_KNOWN = frozenset(
    {
        "appendOnly", "changeDataFeed", "checkConstraints", "clustering", "columnMapping", "deletionVectors", "domainMetadata", "generatedColumns",
        "identityColumns", "inCommitTimestamp", "invariants", "rowTracking", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck",
    }
)  # fmt: skip
"""Features under which the actions of a log name every file of a table."""


def clock_of(path: str) -> datetime:
    """The time where the files are, by which their own times are: that of a file which is put there and removed again."""
    store, probe = store_for(path), f"{path}/{LOG}/.{uuid4()}.probe"
    store.put(probe, b"")
    try:
        head = store.head(probe)
    finally:
        store.delete(probe)
    if head is None:
        raise NotByTasks("its place lost a file at once")
    return head.at


def old_files(path: str, files: timedelta, now: datetime, until: datetime | None = None) -> OldFiles:
    """What may be removed of a table that keeps the files of old versions for so long; `until`: versions that were current then, or later, are needed, too. Raises NotByTasks."""
    store = store_for(path)
    # Before the log: what is committed between the two is in the log, and is kept.
    stored = [StoredFile(name, head.bytes, head.at) for name, head in store.files_in(path)]
    seen = log_cache.latest(path)
    if seen is None:
        raise NotByTasks("there is no table")
    features = {*(seen.state.protocol.get("readerFeatures") or ()), *(seen.state.protocol.get("writerFeatures") or ())}
    if strange := sorted(features - _KNOWN):
        raise NotByTasks(f"the table has {', '.join(strange)}")
    readers = interval(seen.state.properties.get(_PROPERTY, "")) if _PROPERTY in seen.state.properties else DELTAS_OWN
    if readers is None:
        raise NotByTasks(f"its property {_PROPERTY} is {seen.state.properties[_PROPERTY]!r}")
    since = now - kept_for(files, readers)
    since = since if until is None else min(since, until)
    names = listed(path, 0)
    times = _times(names, {file.name: file.at for file in stored}, now)
    version = current_at(times, since)
    named = referenced(path, version)
    needed = named.names | removed_before(names, version, since)
    begun = None if version == named.version else times[version]
    return OldFiles(path, since, version, begun, unneeded(_own(stored), needed, since))


def remove(found: OldFiles) -> None:
    """Remove them; whoever is killed in the middle of it leaves the others for the next time."""
    store = store_for(found.place)
    for file in found.files:
        if not store.promises.whole:
            # Hadoop keeps sums beside each file that it writes to a disk.
            folder, _, name = f"{found.place}/{file.name}".rpartition("/")
            store.delete(f"{folder}/.{name}.crc")
        store.delete(f"{found.place}/{file.name}")


def _own(stored: Sequence[StoredFile]) -> Iterator[StoredFile]:
    """Files of this table: in no hidden folder, and in none that is a table of its own."""
    others = {name.partition(f"/{LOG}/")[0] for name in (file.name for file in stored) if f"/{LOG}/" in name}
    for file in stored:
        *folders, name = file.name.removeprefix(f"{_CHANGES}/").split("/")
        hidden = any(each.startswith(("_", ".")) for each in (*folders, name))
        inner = {"/".join(folders[:depth]) for depth in range(1, len(folders) + 1)}
        if (name.endswith(_ROWS) or name.startswith(_VECTORS)) and not hidden and not inner & others:
            yield file


def _times(names: Listing, written: Mapping[str, datetime], now: datetime) -> dict[int, datetime]:
    """When each version was committed that can still be read. Raises NotByTasks where none can."""
    first = names.last
    while first - 1 in names.commits:
        first -= 1
    # A checkpoint may stand for commits that are gone.
    begins = [0] if first == 0 and 0 in names.commits else [each for each in names.checkpoints if each >= first - 1]
    if not begins:
        raise NotByTasks("no version of its log is whole")
    found = {}
    for version in range(min(begins), names.last + 1):
        said = (commit_name(version), *names.checkpoints.get(version, ()))
        # One that came since the files were listed is as young as can be.
        found[version] = next((written[f"{LOG}/{name}"] for name in said if f"{LOG}/{name}" in written), now)
    return found
