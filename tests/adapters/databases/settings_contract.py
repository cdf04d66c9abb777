"""What every database owes to a session whatever a server, a user, a file or a proxy has set: the same answers, or none.

Not part of `make dialect-check`: it sets what others on a server would notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Protocol

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Request, SyncPlan
from tests.adapters.databases.contract import World, spec_of

WHOLE = Window(None, None)
EVERYWHERE = KeyParts(-(2**63), 2**63 - 1)
ROWS = 12


class Meddled(World, Protocol):
    """A world in which something can be set against us."""

    hostile: Sequence[str]
    """Each names something that may have been set, by a global, a role, a connect script, a limit of a user, or in the file."""
    odd: Mapping[str, Sequence[str]]
    """More tables and views, by the statements that make each: those whose answers depend most on what is set."""

    def under(self, name: str) -> AbstractContextManager[None]:
        """Set for every session that is opened in the block."""


def made(world: Meddled) -> list[TableSpec]:
    """The suite's table, with values that are told in many ways, and the world's own."""
    words = world.words
    world.execute(
        f"CREATE TABLE orders (id {words.numbered}, note varchar(200), price decimal(12,3), share double precision, "
        f"born date, updated_at {words.stamp} NOT NULL DEFAULT {words.now})",
        *(
            f"INSERT INTO orders (note, price, share, born) VALUES ('{number} naïve ''quoted'' || 🎉 ', {number}.125, {number / 7!r}, '2024-02-2{number % 10}')"
            for number in range(ROWS - 1)
        ),
        "INSERT INTO orders (note, price, share, born) VALUES (NULL, -1.5, 0.0, NULL)",
        *(statement for statements in world.odd.values() for statement in statements),
    )
    whole = [replace(spec_of(world, name, strategy=Strategy.FULL_REFRESH), cursor=None) for name in world.odd]
    return [spec_of(world, "orders"), *whole]


def answers(world: Meddled, specs: Sequence[TableSpec]) -> dict[str, Any]:
    """All that is asked of some tables."""
    orders = specs[0]
    with opened(world) as probe:
        seen = probe.observe([ObserveRequest(spec, None) for spec in specs])
        plans = [
            decided
            for spec, each in zip(specs, seen, strict=True)
            if isinstance(decided := plan(spec, Request("run"), None, CommitIds("app", 0, "batch"), each), SyncPlan)
        ]
        bound = seen[0].bound
        found: dict[str, Any] = {
            "catalogue": [(shape.id.name, shape.columns, shape.primary_key) for shape in probe.catalogue()],
            "missing": probe.missing_schemas(("nowhere", *world.address.schemas)),
            "lowest": probe.lowest([orders]),
            "highest": probe.highest([orders]),
            "fingerprint": seen[0].fingerprint,
            "guarantees": [str(each.reading.settled.guarantee) for each in plans],
            "zone": bound.zone,
            "identity": replace(bound.identity, position=0) if bound.identity else None,
        }
        for each in plans:
            found[f"read {each.spec.id.name}"] = read(world, probe, each)
            found[f"measured {each.spec.id.name}"] = probe.measure(each.spec, (WHOLE,))
        with probe.keys(orders) as keys:
            found["keys"] = sorted(keys.texts(EVERYWHERE))
        with probe.placed_rows(orders, (WHOLE,)) as placed:
            found["placed"] = sorted(placed.hashes(EVERYWHERE)) if placed else None
    return found


def read(world: Meddled, probe: SqlProbe, decided: SyncPlan) -> tuple[int, list[str]]:
    """How many rows a sync counts, and those that it stages."""
    with probe.snapshot(decided) as numbers:
        parts = dialect_of(world.address.dialect).reader(world.address).parts(decided, numbers)
        assert parts is not None
        return numbers.rows, sorted(str(row) for part in parts for batch in part.batches() for row in batch.to_pylist())


@contextmanager
def opened(world: Meddled) -> Iterator[SqlProbe]:
    probe = SqlProbe(world.address, "shop")
    try:
        yield probe
    finally:
        probe.close()


def test_whatever_is_set_the_session_answers_the_same(world: Meddled) -> None:
    specs = made(world)
    plain = answers(world, specs)
    assert plain["read orders"][0] == ROWS
    changed: dict[str, Any] = {}
    for name in world.hostile:
        with world.under(name):
            try:
                found = answers(world, specs)
            except Exception as error:  # noqa: BLE001 - told by its name, beside the others
                found = dict.fromkeys(plain, error)
        changed |= {f"{name}: {what}": found[what] for what in plain if found[what] != plain[what]}
    assert not changed, changed
    assert world.hostile
