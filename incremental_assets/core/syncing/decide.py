"""Make the plan of one sync: from the checkpoint table, and a second time if the lake knows more."""

from __future__ import annotations

import uuid
from dataclasses import replace

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.landing.first_load import loads_directly
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.as_landed import as_landed, read_anew
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.target import Target
from incremental_assets.core.ports import Checkpoints, LakeReader, Lease, Ports
from incremental_assets.core.syncing.foreign_changes import knows_less, stands
from incremental_assets.core.syncing.looking import observe
from incremental_assets.core.syncing.recovery import agree, as_the_lake_knows, check_ours, check_single


def decide(
    spec: TableSpec, request: Request, position: Checkpoint, lease: Lease, ports: Ports
) -> tuple[SyncPlan | NothingToDo, Target | None]:
    """The plan, and the target that it was made for; the lake is not read if nothing changed and the copy is as it was."""
    spec = _as_met(spec, request, position)
    (observation,) = observe(ports.probe, (ObserveRequest(spec, position.state),), ports.observer, request.run_id)
    decision = _planned(spec, request, position, None, observation)
    if isinstance(decision, NothingToDo) and not decision.renames and stands(spec, position, ports.reader):
        return decision, None
    agreed, target = agree(spec, request, position, lease, ports)
    if agreed is position and target is None:
        return decision, None
    # A fingerprint that was compared with another position's does not apply to this one.
    seen = observation if agreed is position else observation.elsewhere()
    return _planned(spec, request, agreed, target, seen), target


def predicted(
    spec: TableSpec, position: Checkpoint, observation: Observation, lake: LakeReader, checkpoints: Checkpoints
) -> tuple[SyncPlan | NothingToDo, Target | None]:
    """The decision that `decide` would reach for a plain sync, without a lease: nothing is fenced, recorded or written."""
    request = Request(run_id="")
    decision = _planned(spec, request, position, None, observation)
    if isinstance(decision, NothingToDo) and not decision.renames and stands(spec, position, lake):
        return decision, None
    target = lake.inspect(spec, position.target.version if position.target else None)
    check_ours(spec, request, position, target)
    check_single(spec, position, target, checkpoints)
    if target is None:
        position, seen = replace(position, state=None), observation
    elif knows_less(position, target):
        position, seen = as_the_lake_knows(position, target), observation.elsewhere()
    else:
        seen = observation
    return _planned(spec, request, position, target, seen), target


def _planned(
    spec: TableSpec, request: Request, position: Checkpoint, target: Target | None, observation: Observation
) -> SyncPlan | NothingToDo:
    """The plan for the position, with a warning if the position had to be rebuilt."""
    spec = _as_met(spec, request, position)
    decision = plan(spec, request, position.state, _ticket(spec, request, position, target), observation)
    return replace(decision, warnings=(*decision.warnings, position.rebuilt)) if position.rebuilt else decision


def _as_met(spec: TableSpec, request: Request, position: Checkpoint) -> TableSpec:
    return (read_anew if request.mode is Mode.FULL_REFRESH else as_landed)(spec, position.state)


def _ticket(spec: TableSpec, request: Request, position: Checkpoint, target: Target | None) -> CommitIds:
    """Sequences only grow: above every one announced, and above the last that the lake has seen."""
    app_id = (target.app_id if target else position.app_id) or str(uuid.uuid4())
    free = 1 + max(position.last_seq, target.seq if target else -1)
    if loads_directly(spec, request, position.state, target):
        return CommitIds(app_id, free + 1, uuid.uuid4().hex, load_seq=free)
    return CommitIds(app_id, free, uuid.uuid4().hex)
