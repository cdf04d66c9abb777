"""Rows on their way from a source to the lake, as tasks of Spark take them: what a source of any kind hands over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from incremental_assets.adapters.budget import Budget

if TYPE_CHECKING:
    import pyarrow as pa


class ReadPart(Protocol):
    """Some of a snapshot's rows, as a plain value: a task of Spark reads them, in a process that knows nothing else of the source."""

    @property
    def size(self) -> int:
        """Bytes that are expected, so that the largest part begins first."""

    @property
    def budget(self) -> Budget | None:
        """That of the source which is asked while it is read; None where none is."""

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time: `c0`, `c1`, … of the types that `arrow_types.py` has for them, then the READ_FLAGS of `own_names.py`, and OPERATION where a row may say that it is gone."""
