"""Data catalogues in memory, which can be silent, and in which others make tables, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from incremental_assets.core.errors import CatalogueUnreachable, RegistrationRefused
from incremental_assets.core.model.registration import Described, Place
from incremental_assets.core.model.table_id import TableId


@dataclass
class FakeRegistrar:
    """`of_lake` is what the logs of the lake say."""

    of_lake: Callable[[TableId], Described | None]
    tables: dict[str, tuple[str, Described]] = field(default_factory=dict)
    """By their names: whose copy each is, and what is known of it."""
    asked: list[str] = field(default_factory=list)
    is_silent: bool = False
    fault: Exception | None = None

    def described(self, table: TableId) -> Described | None:
        return self.of_lake(table)

    def register(self, place: Place, table: TableId, found: Described) -> None:
        self.asked.append(place.name)
        self.check(place)
        owner, there = self.tables.get(place.name, (str(table), found))
        if (owner, there.location) != (str(table), found.location):
            raise RegistrationRefused(f"there is a table of this name of {owner}; remove it")
        self.tables[place.name] = (str(table), found)

    def check(self, place: Place) -> None:
        if self.fault is not None:
            raise self.fault
        if self.is_silent:
            raise CatalogueUnreachable("it did not answer; check the network")
