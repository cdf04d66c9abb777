"""Errors of the lake's file system, and folders that another run removed, as sentences. Spark wraps both in long Java traces; the message is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from urllib.parse import unquote

from incremental_assets.adapters.databases.registry import java_packages
from incremental_assets.adapters.delta.damaged_files import damaged_file
from incremental_assets.adapters.delta.plane import OnlyBySpark
from incremental_assets.adapters.spark.error_text import words
from incremental_assets.adapters.spark.jvm import lost
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import IncrementalAssetsError, LakeRefused, LeaseLost, TargetChanged
from incremental_assets.core.model.cures import full_refresh_of
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId

_REFUSALS = {
    "No space left on device": "its disk is full; make room there",
    "Disk quota exceeded": "its quota is used up; make room there, or raise it",
    "Read-only file system": "its file system is read-only; mount it for writing",
    "Not a directory": "a file lies where a folder must be; move it away, or choose another folder",
    "Permission denied": "this user may not write there; give it the right, or choose another folder",
    "Operation not permitted": "its file system takes no folders; choose another folder",
    "AccessDenied": "the store denies it; check the credentials and what they may do",
}
_NO_CONNECTOR = ("S3AFileSystem not found", 'No FileSystem for scheme "s3a"')
_DELTA = "[DELTA_"
"""How Delta begins the name of each of its refusals."""
_FORBIDDEN = {
    "DELTA_CANNOT_MODIFY_APPEND_ONLY": "made it append-only, so that no row of it can be replaced: unset its property `delta.appendOnly`",
    "CONSTRAINT": "given it a rule for its rows (CHECK or NOT NULL), which a row of the source breaks: drop that rule, and write it as a `contract`",
}
"""What another writer may have set. Spark's own words can hold the values of a row."""
_ALTERED = re.compile(
    r"\[(DELTA_(?:UNSUPPORTED_FEATURES_FOR_\w+|FEATURES_PROTOCOL_METADATA_MISMATCH|MISSING_COMMIT_TIMESTAMP|MATERIALIZED_ROW_TRACKING_COLUMN_NAME_MISSING"
    r"|METADATA_MISMATCH|INVALID_PARTITIONING_SCHEMA|PARTITION_COLUMN_NOT_FOUND))\]"
)
"""What Delta refuses where another writer has altered the protocol, the properties or the columns of a table, a column that each sync writes among them."""
_FEATURES = re.compile(r'unsupported by Delta Lake "[^"]*": ([\w\-]+(?:, [\w\-]+)*)')
_NO_FILE = "No such file or directory"
_GONE = ("PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFoundException", _NO_FILE)


@contextmanager
def explained(table: TableId, lake: str, staged: str = "") -> Iterator[None]:
    """Turn what Spark raises inside into an error of the family, where it is known; what is left to Spark stays so. `staged` is the batch that this run has written."""
    try:
        yield
    except OnlyBySpark as error:
        # Tasks left it to Spark as a file is gone: on a disk, Spark would have said so.
        known = damaged_file(table, lake) if FileNotFoundError.__name__ in str(error) else None
        raise known or error from None
    except (IncrementalAssetsError, NotByTasks):
        raise
    except Exception as error:
        ended = lost(error, table)
        if ended is not None:
            raise ended from None
        # A store says no more of it than its name.
        said = f"{_NO_FILE}: {words(error)}" if isinstance(error, FileNotFoundError) else words(error)
        known = explain(said, table, lake, staged)
        if known is None or isinstance(known, TargetChanged) or any(each in said for each in _NO_CONNECTOR):
            # Whatever words it has for it: what Spark says of a file that is cut names no cure.
            known = damaged_file(table, lake) or known
        if known is None:
            raise
        raise known from None


def explain(text: str, table: TableId, lake: str, staged: str) -> IncrementalAssetsError | None:
    """One sentence for what Spark said; None where that is nothing known, or not the lake's: the source's disk may be full as well."""
    if any(package in text for package in java_packages()):
        return None
    if any(missing in text for missing in _NO_CONNECTOR):
        return LakeRefused(
            f"{table}: only Spark reads what is asked for here, and it has no connector for the lake at {lake}; put `hadoop-aws` for Hadoop 3.5 on its class path"
        )
    for refusal, cure in _REFUSALS.items():
        if refusal in text:
            return LakeRefused(
                f"{table}: the lake at {lake} could not be written: {cure}; the next sync goes on from what has landed"
            )
    if refused := _refused(text, table, table_path(lake, table)):
        return refused
    if not any(gone in text for gone in _GONE):
        return None
    # A batch is removed by its own run, or by the one that takes over from it.
    if staged and staged in text:
        return LeaseLost(table)
    made = f"directory: '{lake}/_"
    if made in text or any(f"directory: '{each}'" in text for each in (lake, *PurePath(lake).parents)):
        # As of /proc: the folder itself cannot be made.
        return LakeRefused(
            f"{table}: there can be no lake at {lake}, as no folder can be made there; choose another folder"
        )
    return _missing(unquote(text), table, lake)


def _refused(text: str, table: TableId, path: str) -> IncrementalAssetsError | None:
    """The error for a table to which Delta itself does not write; None where the text says nothing of it."""
    for named, done in _FORBIDDEN.items():
        if _DELTA in text and named in text:
            return TargetChanged(f"{table}: nothing was written to the copy at {path}, as another writer has {done}")
    altered, features = _ALTERED.search(text), _FEATURES.search(text)
    if altered is None:
        return None
    named = f"{altered[1]}: {features[1]}" if features else altered[1]
    return TargetChanged(
        f"{table}: Delta refuses the copy at {path} ({named}), as another writer has altered its features, properties or columns; "
        f"undo that, or move {path} away and read everything again with {full_refresh_of(table)}"
    )


def _missing(text: str, table: TableId, lake: str) -> IncrementalAssetsError | None:
    """The error for a removed file of the copy or of its history; None where the text names neither."""
    copy, history = table_path(lake, table), table_path(lake, table.history)
    if f"{copy}/" in text:
        return TargetChanged(
            f"{table}: a file of the copy at {copy} is missing, and its rows with it; restore it, or read everything again with {full_refresh_of(table)}"
        )
    if f"{history}/" in text:
        return TargetChanged(
            f"{table}: a file of the history at {history} is missing, and its versions with it; restore it, or move the history away: a new one begins with the copy as it is"
        )
    return None
