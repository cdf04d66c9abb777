"""The manifest of a staged batch: which files it has, how many bytes each and how many rows. What lands is read by it: a file that is gone is not one without rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from incremental_assets.core.errors import StageBroken

MANIFEST = "_manifest.json"
"""Hidden from whoever reads the folder as a table."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file of a batch in a local lake."""

    name: str
    bytes: int
    rows: int


def record(folder: str) -> Sequence[StagedFile]:
    """Write the manifest of a batch that has just been staged. Raises FileNotFoundError."""
    # Only here: a look at a manifest does not wait for Arrow.
    import pyarrow.parquet as pq

    root = Path(folder)
    names = sorted(path for path in root.glob("*.parquet") if not path.name.startswith((".", "_")))
    files = [StagedFile(path.name, path.stat().st_size, pq.read_metadata(path).num_rows) for path in names]
    (root / MANIFEST).write_text(json.dumps([asdict(each) for each in files]), encoding="utf-8")
    return files


def staged_files(folder: str) -> Sequence[StagedFile]:
    """The files of a batch, all of which are there as they were staged. Raises StageBroken."""
    root = Path(folder)
    try:
        files = [StagedFile(**each) for each in json.loads((root / MANIFEST).read_text(encoding="utf-8"))]
    except FileNotFoundError:
        raise _broken(root / MANIFEST, "is gone") from None
    except (ValueError, TypeError):
        raise _broken(root / MANIFEST, "is cut") from None
    for each in files:
        try:
            found = (root / each.name).stat().st_size
        except FileNotFoundError:
            raise _broken(root / each.name, "is gone") from None
        if found != each.bytes:
            raise _broken(root / each.name, f"has {found} bytes of {each.bytes}")
    return files


def check_rows(folder: str, rows: int) -> None:
    """Checks a batch of so many rows before it lands. Raises StageBroken."""
    found = sum(each.rows for each in staged_files(folder))
    if found != rows:
        raise _broken(Path(folder) / MANIFEST, f"tells of {found} rows of {rows}")


def _broken(file: Path, what: str) -> StageBroken:
    return StageBroken(
        f"{file} {what}, which this run had staged, so nothing of its batch landed: a run that took the table over, or another program, has been at it; "
        "keep other programs out of that folder, and sync again"
    )
