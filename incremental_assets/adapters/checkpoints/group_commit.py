"""Writes of tables that are synced side by side: those that come at the same time are one transaction, and each waits for its commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.core.concurrency.combining import Combining, Round
from incremental_assets.core.errors import CheckpointsUnreachable, IncrementalAssetsError
from incremental_assets.core.model.table_id import TableId

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Write:
    """The write of one table. An IncrementalAssetsError of `work` is raised to its caller alone, and what it wrote before is committed with the others.

    So `work` proves that it may write before it changes anything. A lease first inserts the row of a table without one: that row is free.
    """

    table: TableId
    work: Callable[[Connection], Any]


class GroupCommit:
    """One transaction at a time; what comes while it is committed goes into the next one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._together = Combining[_Write, Any](self._round)

    def write(self, table: TableId, work: Callable[[Connection], Answer]) -> Answer:
        """What `work` gives, once it is committed. Raises what it raises, as if it had been alone."""
        (answer,) = self._together.ask([_Write(table, work)])
        return answer

    def _round(self, writes: Round[_Write, Any]) -> None:
        # In one order, so that no two processes wait for each other's rows.
        ordered = sorted(writes, key=lambda each: each[0].table)
        try:
            answers = self._committed([write for write, _ in ordered])
        except CheckpointsUnreachable:
            raise
        except Exception:
            if len(ordered) == 1:
                raise
            # Whichever it was, it must not take the others with it.
            for write in ordered:
                self._alone(*write)
            return
        for (_, told), (answer, error) in zip(ordered, answers, strict=True):
            if error is None:
                told.set_result(answer)
            else:
                told.set_exception(error)

    def _alone(self, write: _Write, told: Any) -> None:
        try:
            self._round([(write, told)])
        except Exception as error:  # noqa: BLE001 - raised in the thread that asked
            told.set_exception(error)

    def _committed(self, writes: list[_Write]) -> list[tuple[Any, IncrementalAssetsError | None]]:
        answers: list[tuple[Any, IncrementalAssetsError | None]] = []
        with self._database.transaction(writes=True) as connection:
            for write in writes:
                try:
                    answers.append((write.work(connection), None))
                except IncrementalAssetsError as error:
                    answers.append((None, error))
        return answers
