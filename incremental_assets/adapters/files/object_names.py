"""The files of a folder in a store, by the keys of its objects. A store has no folders: what one would have is what keys begin with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.files import objects, pattern
from incremental_assets.adapters.files.found_files import AT_ONCE, FOUND, MARKED, SCHEMA
from incremental_assets.adapters.files.ledger import PATH, SIZE
from incremental_assets.adapters.files.objects import Bucket
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.model.table_id import TableId

_NANO = 1_000_000_000
_ASKED_AT_ONCE = 16


def found(folder: str, files: Files, table: TableId) -> Iterator[pa.Table]:
    """The files whose paths fit, some at a time. Raises SourceRefused, SourceUnreachable, SetupError."""
    import obstore

    bucket, fits = Bucket.of(folder), pattern.fitting(files.path)
    begins = bucket.key(pattern.fixed(files.path)) or None
    marks, unmarked = list[str](), list[pa.Table]()
    with objects.listing(table, folder):
        for page in obstore.list(bucket.client, begins, chunk_size=AT_ONCE, return_arrow=True):
            paths = [each.removeprefix(bucket.prefix) for each in pa.array(page["path"]).to_pylist()]
            some = _fitting(bucket, page, paths, [fits(each) and not files.marks(each) for each in paths])
            if files.marker:
                # What lies beside a file may come later.
                marks += (each.removesuffix(files.marker) for each in paths if files.marks(each))
                unmarked.append(some)
            else:
                yield some
        for some in unmarked:
            is_marked = pc.is_in(some.column(PATH), value_set=pa.array(marks, pa.string()))
            yield some.select(SCHEMA.names).append_column(FOUND.field(MARKED), is_marked)


def _fitting(bucket: Bucket, page: Any, paths: Sequence[str], fit: Sequence[bool]) -> pa.Table:
    at = pa.array(page["last_modified"]).cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.int64())
    tags = pc.coalesce(pa.array(page["e_tag"]), at.cast(pa.string()))
    columns = [pa.array(paths, pa.string()), pa.array(page["size"]).cast(pa.int64()), tags, pc.multiply(at, _NANO)]
    some = pa.table([*columns, pa.repeat(True, len(paths))], schema=FOUND).filter(pa.array(fit, pa.bool_()))  # noqa: FBT003
    empty = pc.equal(some.column(SIZE), 0)
    if not pc.any(empty).as_py():
        return some
    # Without what some programs put for a folder: its key ends with a slash, which a listing does not show. Each has to be asked for.
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
        asked = zip(empty.to_pylist(), some.column(PATH).to_pylist(), strict=True)
        are_files = pool.map(partial(_is_file, bucket), asked)
        return some.filter(pa.array(are_files, pa.bool_()))


def _is_file(bucket: Bucket, asked: tuple[bool, str]) -> bool:
    import obstore

    is_empty, path = asked
    if is_empty:
        try:
            obstore.head(bucket.client, bucket.key(path))
        except FileNotFoundError:
            return False
    return True
