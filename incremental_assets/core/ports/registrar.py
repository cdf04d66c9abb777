"""Data catalogues, in which engines find tables by their names."""

from __future__ import annotations

from typing import Protocol

from incremental_assets.core.model.registration import Described, Place
from incremental_assets.core.model.table_id import TableId


class Registrar(Protocol):
    """Makes copies known to the catalogues of a configuration. Raises CatalogueUnreachable, RegistrationRefused, SetupError."""

    def described(self, table: TableId) -> Described | None:
        """What the lake's log says of a copy, or of a history; None where there is no table."""

    def register(self, place: Place, table: TableId, found: Described) -> None:
        """Make the copy known there, or bring what is known of it up to date. Does nothing where that has been done.

        A table of another place, or that another has made, is refused, and left as it is.
        """

    def check(self, place: Place) -> None:
        """Whether the catalogue answers and has that database; nothing is written."""
