"""Copies are made known to data catalogues after their commits: what a catalogue answers never decides whether a sync landed.

What was made known is remembered, so that a sync that finds nothing new asks no catalogue. The memory may be lost or old: a catalogue is then asked
again, which changes nothing in one that is right. A failure is remembered too, for people and for the next sync, which tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from incremental_assets.core.errors import IncrementalAssetsError, sentence
from incremental_assets.core.model.history import History
from incremental_assets.core.model.registration import Catalogue, Described, Place, Registered
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports, Registrar

_log = logging.getLogger(__name__)
Known = Mapping[tuple[TableId, Catalogue], Registered]

_ASKED_AGAIN = timedelta(days=1)
"""After which a sync that landed asks again all the same: somebody may have removed a table from the catalogue."""


def tables_of(spec: TableSpec) -> tuple[TableId, ...]:
    """The tables of the lake that are made known for it: the copy, and its history where one is kept."""
    return (spec.id,) if spec.history is History.NONE else (spec.id, spec.id.history)


def known(ports: Ports) -> Known:
    """What is remembered of all tables; nothing where the checkpoint database does not answer, which then costs a question."""
    try:
        return ports.checkpoints.registrations()
    except IncrementalAssetsError:
        return {}


def registered(spec: TableSpec, report: SyncReport, ports: Ports, remembered: Known | None = None) -> SyncReport:
    """The report of a sync, after its copy was made known where the configuration says; with a warning for each catalogue in which it could not be."""
    if not spec.register or ports.registrar is None or report.status not in (Status.LANDED, Status.IDLE):
        return report
    remembered = known(ports) if remembered is None else remembered
    is_moved = report.status is Status.LANDED or bool(report.schema_changes)
    warnings = []
    for table in tables_of(spec):
        for place in (each.of(table) for each in spec.register):
            last = remembered.get((table, place.kind))
            is_right = last is not None and not last.problem and last.place == str(place)
            if is_right and not is_moved:
                continue
            done = _made_known(table, place, ports.registrar, last if is_right else None)
            if done is not None:
                with suppress(IncrementalAssetsError):
                    ports.checkpoints.record_registration(done)
                warnings += [done.problem] if done.problem else []
    return replace(report, warnings=(*report.warnings, *warnings)) if warnings else report


def _made_known(table: TableId, place: Place, registrar: Registrar, last: Registered | None) -> Registered | None:
    """What there is to remember; None where nothing has landed, or the catalogue has it. `last`: how it was made known there, if it was."""
    done = Registered(table, place.kind, str(place))
    try:
        found = registrar.described(table)
        if found is None or (last is not None and _is_as_told(last, found)):
            return None
        registrar.register(place, table, found)
    except Exception as error:  # noqa: BLE001 - what has landed has landed, whatever a catalogue does
        if not isinstance(error, IncrementalAssetsError):
            _log.exception("%s: unexpected error of a catalogue", table)
        return replace(
            done,
            problem=f"the copy is complete, and could not be made known to {place}: {sentence(error)}; the next sync tries again",
        )
    return replace(done, fingerprint=found.fingerprint)


def _is_as_told(last: Registered, found: Described) -> bool:
    is_recent = last.at is not None and datetime.now(UTC) - last.at < _ASKED_AGAIN
    return last.fingerprint == found.fingerprint and is_recent
