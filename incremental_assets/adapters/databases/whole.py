"""An answer is whole: the rows that came are as many as the database counts itself, in one number that no limit on rows can cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.table_shape import TableShape

Row = TypeVar("Row")


class Counted(Generic[Row]):
    """Rows as they come, counted on their way."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows, self.count = rows, 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


def check_whole(shape: TableShape, came: int, count: Callable[[], int]) -> None:
    """`count` asks the database for the number of the same rows in the same view of the table. Raises SourceRefused where others came.

    A view may hold other rows by the time, and a table of some engines has no views of one moment: what is counted twice with two results may come as a third one.
    """
    counted = count()
    if came == counted or (shape.arrivals and counted != count()):
        return
    raise SourceRefused(
        f"{shape.id}: the source counts {counted:,} rows and sent {came:,}, so nothing was written: a limit of the server, of this user or of a proxy cuts its answers; "
        "remove it for this user, and run the sync again"
    )
