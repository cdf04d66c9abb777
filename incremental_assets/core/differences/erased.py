"""Leaves out of a comparison what was erased from the copy: the source still has these rows, and rightly the copy does not."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.differences.differing import Differing, without
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.ports import Erasures, Keys, Ports


def without_erased(spec: TableSpec, found: Differing, ports: Ports) -> Differing:
    """What differs besides. Nobody is asked for keys where none was erased."""
    if not (found.lacking.numbers and ports.erasures.has(spec.id)):
        return found
    with ports.source_rows(spec).keys(spec) as source:
        places = _erased(spec, found, found.lacking.numbers, source, ports)
    return replace(without(found, places), erased=len(places)) if places else found


def check_list(spec: TableSpec, state: State | None, erasures: Erasures) -> None:
    """Raises LakeRefused where keys were erased and the list of them is gone: a sync without it would bring the rows back, and nobody would see it."""
    if state is not None and state.erased and not erasures.has(spec.id):
        raise LakeRefused(
            f"{spec.id}: keys were erased from it, and the list that keeps them out is gone from the lake (below `_erased`), so that nothing was read; "
            "restore it from a backup of the lake, or erase the keys again"
        )


def _erased(spec: TableSpec, found: Differing, numbers: frozenset[int], source: Keys, ports: Ports) -> frozenset[int]:
    """The places at which every key of the source was erased, by halves: a key does not tell its place."""
    texts = source.texts(replace(found.lacking, numbers=numbers))
    erased = ports.erasures.among(spec, texts)
    if not erased:
        return frozenset()
    if erased == texts:
        return numbers
    if len(numbers) == 1:
        # Keys that share a place: one of them differs.
        return frozenset()
    ordered = sorted(numbers)
    halves = ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]
    return frozenset().union(*(_erased(spec, found, frozenset(half), source, ports) for half in halves))
