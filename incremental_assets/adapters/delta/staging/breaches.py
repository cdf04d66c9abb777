"""What becomes of a batch with rows that break its table's contract, and the messages about it: pure."""

from __future__ import annotations

from incremental_assets.adapters.delta.staging.staged import Breaches
from incremental_assets.core.errors import ContractBroken, Refused
from incremental_assets.core.model.contract import OnBreach
from incremental_assets.core.model.cures import allow_shrink
from incremental_assets.core.model.quarantine import Resolution
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.words import agreeing, counted

_NAMED = 5
"""Rules that a sentence names."""


def answered(plan: SyncPlan, found: Breaches, rows: int) -> None:
    """Raises ContractBroken where nothing may land of such a batch, Refused where a person has to decide."""
    contract, table = plan.spec.contract, plan.spec.id
    if contract is None or not found.rows:
        return
    if contract.on_breach is OnBreach.FAIL:
        raise ContractBroken(
            f"{table}: {_broken(found)}, and `on_breach: fail` lets nothing land then; fix the rows in the source, or the contract "
            f"({contract.file}:{contract.line})"
        )
    most = contract.max_fraction
    replays = plan.request.resolves is Resolution.REPLAYED
    if most is None or plan.request.allow_shrink or replays or found.rows <= rows * most:
        return
    raise Refused(
        f"{table}: {_broken(found)}, of {rows:,} that were read, more than `max_fraction: {most:g}` allows in quarantine, so nothing landed; fix the rows "
        f"or the contract ({contract.file}:{contract.line}), or if that is right, run {allow_shrink(table)}"
    )


def told(plan: SyncPlan, found: Breaches) -> tuple[str, ...]:
    """A warning, where rows break the contract and the others land."""
    contract = plan.spec.contract
    if contract is None or not found.rows:
        return ()
    if contract.on_breach is OnBreach.WARN:
        return (f"{_broken(found)}, and landed as `on_breach: warn` has it",)
    went = agreeing(found.rows, "it went", "they went")
    return (f"{_broken(found)}: {went} to quarantine, and `incremental-assets replay` lands what has been fixed",)


def _broken(found: Breaches) -> str:
    named = ", ".join(f"{rule} ({rows:,})" for rule, rows in found.rules[:_NAMED])
    more = len(found.rules) - _NAMED
    named += f", and {counted(more, 'more rule')}" if more > 0 else ""
    rules = f" ({named})" if named else ""
    return f"{counted(found.rows, 'row')} {agreeing(found.rows, 'breaks', 'break')} the contract{rules}"
