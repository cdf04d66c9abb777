"""Erase keys from a copy and from all that was made of it: the list that keeps them out first, then one commit for each table, then what went before.

Whoever dies on the way is followed by the same call: each step finds by itself what is left to do, and until the last one nothing says that it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.target import AsLeft
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.following import catch_up
from incremental_assets.core.syncing.recovery import recover


class Eraser(Protocol):
    """What an erasure does to the places of one table."""

    def keep_out(self) -> None:
        """From here on no sync brings the keys back."""

    def rewrite(self, state: State, run_id: str) -> AsLeft:
        """Copy, history and quarantine without their rows, in a commit each; what the copy is after it."""

    @property
    def steps(self) -> tuple[Callable[[], None], ...]:
        """What removes all that was there before, and what is said elsewhere."""


def erase(spec: TableSpec, run_id: str, ports: Ports, eraser: Eraser) -> None:
    """Raises Busy, TargetChanged, LakeRefused, and what a recovery raises."""
    this_process.refuse(spec.id)
    request = Request(run_id, Mode.SYNC)
    with ports.checkpoints.lease(spec.id, run_id, even_paused=True) as lease:
        eraser.keep_out()
        position = recover(spec, request, lease, ports)
        target = ports.reader.inspect(spec, position.target.version if position.target else None)
        if target is not None and position.state is not None:
            if target.foreign:
                raise TargetChanged(
                    f"{spec.id}: the rows were changed by another writer ({target.foreign}), so nothing was erased but kept out; read everything again "
                    f"with {full_refresh(spec)}, and erase again"
                )
            # Before the log goes by which it follows.
            catch_up(spec, request, ports.historian)
            state = replace(position.state, erased=True)
            left = eraser.rewrite(state, run_id)
            known = Event(spec.id, EventKind.REBUILT, run_id, target.seq, app_id=target.app_id, state=state)
            # Before the log goes that shows this commit as ours.
            lease.record(replace(known, target=left, detail="keys were erased"))
        for step in eraser.steps:
            step()
