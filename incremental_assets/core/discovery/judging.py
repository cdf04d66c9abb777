"""Checks proposals by the rules of a sync: what it would refuse is left out, and what weakens its guarantee is reported. Pure."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.discovery.proposal import Proposal, propose
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table import TableShape, TableSpec
from incremental_assets.core.planning.doubts import numbered_apart, of_arrival, of_numbers

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
    return replace(proposal, fixes=(*proposal.fixes, *_doubts(spec)))


def spec_of(proposal: Proposal) -> TableSpec | None:
    """The table as it would be synced, where it has a cursor whose ends are cheap to find."""
    taken = proposal.taken
    if proposal.terms is None or taken is None:
        return None
    if taken.traits.indexed is False and proposal.shape.bytes > _WORTH_A_SCAN:
        return None
    return resolve(proposal.terms, proposal.shape)


def _doubts(spec: TableSpec) -> tuple[str, ...]:
    if spec.cursor is None or not spec.is_incremental:
        return ()
    found = [
        f"its runs are best_effort: {why}" for why in (of_arrival(spec), of_numbers(spec), numbered_apart(spec)) if why
    ]
    if spec.cursor.is_zoneless:
        found.append(
            f"{spec.cursor.column} has no time zone and is read in the database's own; `cursor: {{zone: Europe/Paris}}` names another"
        )
    return tuple(found)
