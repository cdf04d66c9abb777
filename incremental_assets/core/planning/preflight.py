"""Is it the table that landed, on the same terms, and as large? What stops a sync whatever its capture."""

from __future__ import annotations

from incremental_assets.core.errors import Refused, TermsChanged
from incremental_assets.core.model.cures import allow_shrink, full_refresh, reset
from incremental_assets.core.model.layout import usual
from incremental_assets.core.model.schema_drift import check_columns_kept
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.strategies import traits_of
from incremental_assets.core.words import counted


def check_terms(spec: TableSpec, state: State | None) -> None:
    """Stop if landed rows were synced under other terms."""
    if state is None:
        return
    was, now = state.terms, spec.terms
    if was.same(now):
        return
    if was.target != now.target:
        raise TermsChanged(lies_elsewhere(spec, was))
    changes = [
        f"{name} {before or 'none'} -> {after or 'none'}"
        for name, before, after in (
            ("strategy", str(was.strategy), str(now.strategy)),
            ("cursor", was.cursor, now.cursor),
            ("fallback", now.fallback if was.fallback is None else was.fallback, now.fallback),
            ("key", ", ".join(was.key), ", ".join(now.key)),
            ("where", was.where, now.where),
            ("masks", was.masks, now.masks),
            ("how the source compares the key", was.collation, now.collation if was.collation is not None else None),
        )
        if before != after
    ]
    other = f", or start over with {reset(spec)}" if rows_can_stay(was, now) else ""
    raise TermsChanged(
        f"{spec.id}: what landed was synced on other terms ({'; '.join(changes)}): put them back, or read everything again with "
        f"{full_refresh(spec, landed_by=was.strategy)}{other}{_left(was, now)}"
    )


def lies_elsewhere(spec: TableSpec, was: Terms) -> str:
    """What there is to say of a copy that lies in another place than `target` says."""
    there, here = (each.target or "/".join(usual(spec.id)) for each in (was, spec.terms))
    return (
        f"{spec.id}: its copy lies in {there} of the lake, and `target` says {here}: put `target` back, or have all rows read again and the copy written there with "
        f"{full_refresh(spec, landed_by=was.strategy)}; what lies in {there} stays until you remove that folder"
    )


def _left(was: Terms, now: Terms) -> str:
    """What a full refresh does not take out."""
    if was.masks == now.masks:
        return ""
    return "; files of versions before that, its history and its quarantine keep what they hold, until they are removed"


def rows_can_stay(was: Terms, now: Terms) -> bool:
    """Whether rows that landed under the old settings can stay: with one row per key, only if the same key applied, and under another condition or other masks never."""
    return (was.where, was.masks) == (now.where, now.masks) and keys_stay_single(was, now)


def keys_stay_single(was: Terms, now: Terms) -> bool:
    """Whether no key is there twice that landed under the old settings: with one row per key, only if the same key applied."""
    single_before, single_now = (traits_of(terms.strategy).one_row_per_key for terms in (was, now))
    return not single_now or (single_before and set(was.key) == set(now.key) and was.same_collation(now))


def check_same_columns(plan: SyncPlan) -> None:
    """Stop if a column's name now means another column than the one that landed, unless everything is read again."""
    if plan.previous is not None and not plan.overwrites:
        check_columns_kept(plan.spec, dict(plan.previous.columns))


def check_shrink(plan: SyncPlan, rows: int) -> None:
    """Stop if half of the rows are gone: more likely an accident in the source than the truth."""
    before, table = plan.previous.rows if plan.previous else None, plan.spec.id
    if plan.overwrites and before and rows < before / 2 and not plan.request.allow_shrink:
        raise Refused(
            f"{table}: the source shows {counted(rows, 'row')} where the last whole read had {before:,}, so the copy was left as it is; "
            f"if that is right, run {allow_shrink(table)}"
        )
