"""The data catalogues of a configuration, each opened when it is first needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from incremental_assets.adapters.registering.described import described
from incremental_assets.core.errors import CatalogueUnreachable
from incremental_assets.core.model.registration import Catalogue, Described, Place
from incremental_assets.core.model.table_id import TableId

_LEFT_ALONE_SECONDS = 60.0
"""For which a catalogue that did not answer is not asked again by this process: of fifty tables each would wait for it."""


class DataCatalogue(Protocol):
    """One kind of catalogue, as `core.ports.Registrar` has it."""

    def put(self, place: Place, table: TableId, found: Described) -> None:
        """Make the copy known there, or bring what is known of it up to date. Raises CatalogueUnreachable, RegistrationRefused."""

    def check(self, place: Place) -> None:
        """Whether it answers and has that database."""


class Registrar:
    """Implements `core.ports.Registrar`. `openers` are the catalogues by their kinds."""

    def __init__(self, lake: str, openers: Mapping[Catalogue, Callable[[], DataCatalogue]]) -> None:
        self._lake, self._openers = lake, openers
        self._opened: dict[Catalogue, DataCatalogue] = {}
        self._silent: dict[tuple[Catalogue, str], tuple[float, CatalogueUnreachable]] = {}
        self._lock = threading.Lock()

    def described(self, table: TableId) -> Described | None:
        """What the lake's log says of a copy, or of a history; None where there is no table."""
        return described(self._lake, table)

    def register(self, place: Place, table: TableId, found: Described) -> None:
        """Make the copy known there, or bring what is known of it up to date."""
        catalogue = self._catalogue(place)
        at, error = self._silent.get((place.kind, place.region), (-_LEFT_ALONE_SECONDS, None))
        if error is not None and time.monotonic() - at < _LEFT_ALONE_SECONDS:
            raise error
        try:
            catalogue.put(place, table, found)
        except CatalogueUnreachable as silent:
            self._silent[place.kind, place.region] = time.monotonic(), silent
            raise

    def check(self, place: Place) -> None:
        """Whether the catalogue answers and has that database; nothing is written."""
        self._catalogue(place).check(place)

    def _catalogue(self, place: Place) -> DataCatalogue:
        with self._lock:
            if place.kind not in self._opened:
                self._opened[place.kind] = self._openers[place.kind]()
            return self._opened[place.kind]
