"""The metrics of a configuration as text, made anew only when the checkpoint database has changed, or a quiet time begins or ends."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from incremental_assets.cli.selection import remembered
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.operations.exposition import text_of
from incremental_assets.core.operations.metrics import Watched, families

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


class Exporter:
    """One for all who scrape, each of whom waits for the one before."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime, self._lock = runtime, threading.Lock()
        self._ledger = runtime.checkpoints.ledger()
        self._version = version("incremental-assets")
        self._revision: object = self
        self._text = ""
        self._tables: tuple[object, Sequence[Watched]] = (self, ())

    def text(self) -> str:
        """What is known now. Raises CheckpointsUnreachable and its kin."""
        with self._lock:
            quiet = self._quiet()
            revision = self._ledger.revision(), quiet
            if revision != self._revision:
                self._text = text_of(families(self._ledger.read(), self._watched(), self._version, dict(quiet)))
                self._revision = revision
            return self._text

    def _quiet(self) -> tuple[tuple[str, bool], ...]:
        now, sources = datetime.now(UTC), self._runtime.configuration.sources
        return tuple((each.name, each.quiet.until(now) is not None) for each in sources if each.quiet is not None)

    def _watched(self) -> Sequence[Watched]:
        """The tables of the file, and of the catalogue last seen: told anew once there may be others."""
        revision, found = self._ledger.tables_revision(), self._tables
        if revision != found[0]:
            found = self._tables = (revision, self._told())
        return found[1]

    def _told(self) -> Sequence[Watched]:
        configuration, found = self._runtime.configuration, remembered(self._runtime, ())
        terms = {table: terms_of(configuration.source(table.source), table) for table in sorted(found.tables)}
        return [Watched(table, each.strategy, each.freshness, each.slo) for table, each in terms.items()]
