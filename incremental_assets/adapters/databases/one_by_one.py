"""The light queries of a session that asks about one table after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from incremental_assets.adapters.databases.dialect import Unread
from incremental_assets.adapters.databases.per_table import for_each_table
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window

End = Literal["MAX", "MIN"]


class OneByOne(ABC):
    """A part of `databases.dialect.Session`, of a database whose partitions are not looked at one by one."""

    def highest(self, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
        """The largest cursor of each table."""
        return for_each_table(specs, lambda index: (self._end(specs[index], "MAX"),), alone=alone)

    def lowest(self, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
        """The smallest cursor of each table."""
        return for_each_table(specs, lambda index: (self._end(specs[index], "MIN"),), alone=alone)

    def fingerprints(
        self, wanted: Mapping[int, tuple[TableSpec, Window]], bound: Bound, *, alone: bool
    ) -> dict[int, Fingerprint]:
        """The fingerprints of what the rows of each window hold."""
        specs = {index: spec for index, (spec, _) in wanted.items()}
        return for_each_table(specs, lambda index: (self._fingerprint(*wanted[index]),), alone=alone)

    def ages(self, unread: Mapping[int, Unread], clock: datetime, *, alone: bool) -> dict[int, float | None]:
        """Seconds since the oldest of the stamps."""
        specs = {index: each.spec for index, each in unread.items()}
        return for_each_table(specs, lambda index: (self._age(unread[index], clock),), alone=alone)

    def members(self, tables: Sequence[TableId]) -> list[tuple[int, ...]]:
        """No members for any table."""
        return [() for _ in tables]

    def lowest_of_members(
        self, wanted: Mapping[int, tuple[TableSpec, Sequence[int]]], *, alone: bool
    ) -> dict[int, CursorValue | None]:
        """No values, as there are no members."""
        return {}

    @abstractmethod
    def _end(self, spec: TableSpec, end: End) -> CursorValue | None: ...

    @abstractmethod
    def _fingerprint(self, spec: TableSpec, window: Window) -> Fingerprint: ...

    @abstractmethod
    def _age(self, unread: Unread, clock: datetime) -> float | None: ...
