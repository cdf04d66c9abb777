"""What each database owes of changes of a table's definition: those after which landed rows may show something else are noticed, though no stamp moves.

A module of a dialect lists its changes, and asks for their `outcomes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.differences.comparing import rows_to_read
from incremental_assets.core.model.key_parts import everywhere
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan
from tests.adapters.databases.contract import WHOLE, World, decided, spec_of, synced
from tests.snapshots import as_read
from tests.waiting import until


@dataclass(frozen=True)
class Change:
    """Statements by which a table is made with its rows, and those that alter it; `{t}` is its name. `differ`: rows that then show something else; None: nothing is to be compared."""

    of: str
    made: tuple[str, ...]
    altered: tuple[str, ...]
    differ: int | None = None
    key: tuple[str, ...] = ("id",)


@dataclass(frozen=True)
class Landed:
    """What a sync has landed: its state, and what the copy then holds."""

    state: State
    copy: ReadPlaces


def outcomes(world: World, changes: Sequence[Change]) -> dict[str, object]:
    """By what was done: how many rows a comparison reads; None where nothing is compared."""
    probe, names = SqlProbe(world.address, "shop"), [f"t{number}" for number in range(len(changes))]
    for name, change in zip(names, changes, strict=True):
        world.execute(*(each.replace("{t}", name) for each in change.made))
    _until_the_second_is_over(world)
    landed = [as_landed(probe, _spec(world, name, each)) for name, each in zip(names, changes, strict=True)]
    for name, change in zip(names, changes, strict=True):
        world.execute(*(each.replace("{t}", name) for each in change.altered))
    _until_the_second_is_over(world)
    found = {
        change.of: compared(probe, _spec(world, name, change), before)
        for name, change, before in zip(names, changes, landed, strict=True)
    }
    probe.close()
    return found


def wanted(changes: Sequence[Change]) -> dict[str, object]:
    """What `outcomes` is to find."""
    return {change.of: change.differ for change in changes}


def _spec(world: World, name: str, change: Change) -> TableSpec:
    return spec_of(world, name, key=change.key, key_enforced=True)


def _until_the_second_is_over(world: World) -> None:
    """A server that tells a time alone cuts it to its second, and says so."""
    probe = SqlProbe(world.address, "shop")
    until(lambda: not any("later" in fact.values for shape in probe.catalogue() for fact in shape.facts or ()))
    probe.close()


def as_landed(probe: SqlProbe, spec: TableSpec) -> Landed:
    """A first sync."""
    _, state = synced(probe, spec)
    with probe.placed_rows(spec, (WHOLE,)) as rows:
        assert rows is not None
        return Landed(state, ReadPlaces.of(rows.hashes(everywhere(rows.spread()))))


def compared(probe: SqlProbe, spec: TableSpec, before: Landed) -> object:
    """How many rows the comparison of the next sync reads; None where it compares nothing, and words where it does not as it should."""
    plan = decided(probe, spec, before.state)
    if not (isinstance(plan, SyncPlan) and plan.reading.finds_differing):
        return None
    if not any("was altered in the source" in warning for warning in plan.warnings):
        return "not told"
    with probe.compared(plan, lambda source: rows_to_read(spec, before.copy, source)) as seen:
        state = landed_state(plan, as_read(seen.rows, seen.highest, seen.fingerprint, seen.due, seen.visible))
    again: Any = decided(probe, spec, state)
    return "compared for ever" if isinstance(again, SyncPlan) and again.reading.finds_differing else seen.rows
