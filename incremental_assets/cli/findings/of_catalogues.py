"""What `doctor` finds of the data catalogues to which copies are made known: whether each answers, and what could not be made known there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.registration import Place
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.syncing.registering import tables_of
from incremental_assets.core.words import counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_TOPIC = "register"


def of_catalogues(runtime: Runtime, specs: Sequence[TableSpec]) -> Iterator[Finding]:
    """Each catalogue is asked once for each of its databases; nothing is written."""
    registrar = runtime.registrar
    if registrar is None:
        return
    remembered = runtime.checkpoints.registrations()
    databases: dict[tuple[str, ...], list[Place]] = {}
    for spec in specs:
        for table in tables_of(spec):
            for place in (each.of(table) for each in spec.register):
                databases.setdefault((place.kind, place.region, place.database), []).append(place)
                last = remembered.get((table, place.kind))
                if last is not None and last.problem:
                    yield Finding(str(table), _TOPIC, Health.WARN, last.problem)
    for places in databases.values():
        place = places[0]
        where = f"{place.kind.words}{f' ({place.region})' if place.region else ''}"
        try:
            registrar.check(place)
        except IncrementalAssetsError as error:
            # What lands, lands without it.
            yield Finding(where, _TOPIC, Health.WARN, str(error))
        else:
            told = f"has the database {place.database}, for {counted(len(places), 'table')}"
            yield Finding(where, _TOPIC, Health.OK, told)
