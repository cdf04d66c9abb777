"""What an erasure cannot reach, or cannot see: said in its certificate, so that nobody takes it for gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import obstore

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.erasure.prover import Grounds
from incremental_assets.adapters.lake_store.objects import client
from incremental_assets.adapters.lake_store.opened import options_of
from incremental_assets.core.model.erasure import Found
from incremental_assets.core.model.paths import erased_path

_ALWAYS = (
    "the source itself: whether it still has the row is its own matter, and no sync brings it back",
    "other lakes that the configuration has named before",
    "backups of the lake, of the checkpoint database and of Dagster's home, and snapshots of their file systems",
    "what others have read: assets that follow this one, clones of the table, exports, caches of readers",
    "logs that were sent elsewhere: those of units and containers, traces, lineage, notifications",
    "memory of processes that run: `incremental-assets engine stop` ends the engine",
)


def beyond(grounds: Grounds) -> Iterator[str]:
    """One sentence for each."""
    yield from _ALWAYS
    yield from grounds.former.unclear
    database = Database(grounds.checkpoints, writes=False)
    if database.file is None:
        yield f"the write-ahead log and the dead rows of the server of {database.name}: `VACUUM FULL` there removes the rows"
    if not (grounds.home / "history").is_dir():
        yield f"Dagster's storage, where it is not in {grounds.home}"


def of_others(grounds: Grounds, left: Iterable[Found]) -> Iterator[str]:
    """Why something was left where the copy lay before, and another table's lies now."""
    for folder, table in grounds.former.others.items():
        if any(each.where.startswith(f"{folder}/") for each in left):
            yield (
                f"{folder} is where the copy lay before, and that of {table} lies there now, so that nothing was taken out of it: an erasure of that table takes "
                f"the rows that it has of the person, and with them all versions of before"
            )


def kept_versions(grounds: Grounds) -> str:
    """Why nothing in the bucket of a lake is gone for good; empty where it is, or where there is no bucket."""
    if "://" not in grounds.lake:
        return ""
    root = "/".join(grounds.lake.split("/")[:3])
    key = erased_path(grounds.lake, grounds.table).removeprefix(f"{root}/")
    found = obstore.head(client(root, options_of(grounds.lake)), key)
    if found.get("version") is None:
        return ""
    return (
        f"{root} keeps versions of objects, so that what was removed is still there: have them removed by a lifecycle rule "
        "(`NoncurrentVersionExpiration`), or one by one, and keep this certificate as not done until then"
    )
