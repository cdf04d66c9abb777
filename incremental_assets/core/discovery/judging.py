"""Checks proposals by the rules of a sync: what it would refuse is left out, and what weakens its guarantee is reported. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from incremental_assets.core.captures.database.doubts import (
    numbered_apart,
    of_arrival,
    of_key,
    of_numbers,
    of_shown,
    of_unseen_sequence,
)
from incremental_assets.core.captures.database.stamps import by_an_application, of_stamps
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.discovery.proposal import Proposal, propose
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.model.table_shape import TableShape

_APPLICATION_LAG = timedelta(minutes=15)
"""What clocks of application servers, and the time to their transactions, are taken to lag behind at most, until a person knows better."""
_WORTH_A_SCAN = 64 * 2**20
"""Bytes of a table whose ends are asked for though no index tells them."""


def judged(shape: TableShape, traits: TableTraits) -> Proposal:
    """What is proposed of a table, if it can be synced at all."""
    proposal = propose(shape, traits)
    if proposal.terms is None:
        return proposal
    try:
        spec = resolve(proposal.terms, shape)
    except IncrementalAssetsError as error:
        return proposal.left_out(str(error).removeprefix(f"{shape.id}: "))
    proposal = replace(proposal, fixes=(*proposal.fixes, *_doubts(spec)))
    return _declared(proposal, proposal.terms, spec) if proposal.terms and by_an_application(spec) else proposal


def _declared(proposal: Proposal, terms: TableConfig, spec: TableSpec) -> Proposal:
    """With what an application's stamps are taken to lag, as nothing in the source shows who stamps."""
    cursor, fix = cursor_of(spec), _why(spec)
    if not fix:
        return proposal
    assumed = (
        f"{fix}; `stamped` takes it that this is at most {format_duration(_APPLICATION_LAG)} before its transaction, which `incremental-assets doctor` measures "
        f"where it can: let a default and a trigger of the database set {cursor.column}, then it may go"
    )
    declared = replace(terms, cursor=replace(cursor, within=_APPLICATION_LAG))
    return replace(proposal, terms=declared, fixes=(*(each for each in proposal.fixes if fix not in each), assumed))


def _why(spec: TableSpec) -> str:
    """Why its stamps are not known for the source's own: in the zone that is proposed, whatever the time."""
    zone = (spec.cursor.zone if spec.cursor else None) or ""
    return of_stamps(spec, zone, datetime.now(UTC))


def spec_of(proposal: Proposal) -> TableSpec | None:
    """The table as it would be synced, where it has a cursor whose ends are cheap to find."""
    taken = proposal.taken
    if proposal.terms is None or taken is None:
        return None
    if taken.traits.indexed is False and proposal.shape.bytes > _WORTH_A_SCAN:
        return None
    return resolve(proposal.terms, proposal.shape)


def _doubts(spec: TableSpec) -> tuple[str, ...]:
    if spec.read_by is None:
        return ()
    found = [
        f"its runs are best_effort: {why}"
        for why in (
            of_arrival(spec),
            of_numbers(spec),
            of_unseen_sequence(spec),
            numbered_apart(spec),
            _why(spec),
            of_shown(spec),
            of_key(spec),
        )
        if why
    ]
    if spec.read_by.is_zoneless and spec.read_by.zone is None:
        found.append(
            f"{spec.read_by.column} has no time zone and is read in the database's own; where it is stamped in another, name that: `cursor: {{zone: …}}`"
        )
    return tuple(found)
