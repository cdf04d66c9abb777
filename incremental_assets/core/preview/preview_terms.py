"""What a table's own terms make of a sync, shown before it: its deletes, its contract, its history."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.model.contract import Contract, OnBreach, rule
from incremental_assets.core.model.deletes import DeleteMode, Deletes, KeysCompared
from incremental_assets.core.model.history import History
from incremental_assets.core.model.table import TableSpec

_BREACHES = {
    OnBreach.QUARANTINE: "rows that break it are held in quarantine, the others land",
    OnBreach.FAIL: "if a row breaks it, nothing lands",
    OnBreach.WARN: "rows that break it land, and are reported",
}

_NAMED = 5
"""How many columns are named one by one."""


@dataclass(frozen=True, slots=True)
class TermsShown:
    """Each empty where a table has no such thing."""

    where: str = ""
    masks: str = ""
    columns: str = ""
    deletes: str = ""
    contract: str = ""
    history: str = ""
    register: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each with its key before it."""
        named = (
            ("where", self.where),
            ("masks", self.masks),
            ("columns", self.columns),
            ("deletes", self.deletes),
            ("contract", self.contract),
            ("history", self.history),
            ("register", self.register),
        )
        return tuple(f"{key}: {sentence}" for key, sentence in named if sentence)


NO_TERMS = TermsShown()


def terms_shown(spec: TableSpec, deletes: str = "") -> TermsShown:
    """What condition, contract and history make of a sync, beside `deletes`, which depends on the sync."""
    contract = "" if spec.contract is None else _contract(spec.contract)
    kept = {History.NONE: "", History.APPEND: "each version that lands", History.SCD2: "each version with its time"}
    history = kept[spec.history] and f"{kept[spec.history]} is kept in {spec.id.history}"
    masks = "; ".join(f"{each.name}: {each.mask.words}" for each in spec.masks)
    return TermsShown(_where(spec), masks, _named(spec), deletes, contract, history, _registered(spec))


def _registered(spec: TableSpec) -> str:
    """Where the copy is made known, and its history where one is kept."""
    names = [f"{each.of(spec.id)}" for each in spec.register]
    beside = "" if spec.history is History.NONE else ", its history beside it"
    return f"once it has landed, the copy is known to {' and to '.join(names)}{beside}" if names else ""


def _named(spec: TableSpec) -> str:
    """The names that the copy gives its columns, of those that the source calls otherwise."""
    renamed = [f"{column!r} is {name!r}" for name, column in spec.source_names if name in spec.shape.names]
    more = f", and {len(renamed) - _NAMED} more" if len(renamed) > _NAMED else ""
    return f"in the copy {', '.join(renamed[:_NAMED])}{more}" if renamed else ""


def _where(spec: TableSpec) -> str:
    if spec.where is None:
        return ""
    goes = (
        "leaves the copy"
        if capture_of(spec).is_whole
        else "counts as deleted when keys are compared"
        if spec.deletes.compares
        else "stays in the copy as it was, as `deletes` is not `mode: diff`"
    )
    return f"only rows with {spec.where} are read; one that no longer is such a row {goes}"


def compared_again(deletes: Deletes, last: KeysCompared | None) -> str:
    """What becomes of deletes in a sync that compares no keys: when they are compared again, what a mark of the source does, or that they are not followed."""
    if deletes.compares:
        return f"compared again from {last.clock + deletes.every:%Y-%m-%d %H:%M}Z on" if last else "not compared"
    if deletes.mode is DeleteMode.SOFT:
        return (
            f"rows that {deletes.column!r} marks {'leave the copy' if deletes.drops_marked else 'stay with their mark'}"
        )
    return "not followed"


def allowed(deletes: Deletes) -> str:
    """How much may go."""
    return f"unless they are more than {deletes.max_fraction:.0%}"


def _contract(contract: Contract) -> str:
    rules = "; ".join(
        f"{each.column} {', '.join(rule(*given) for given in each.given.items())}" for each in contract.rules
    )
    most = contract.max_fraction
    stops = f"; more than {most:.2%} of the rows that are read stop the sync" if most is not None else ""
    return f"{contract.model or rules}: {_BREACHES[contract.on_breach]}{stops}"
