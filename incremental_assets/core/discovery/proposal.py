"""How a table is best synced, from its shape and what its source tells of it: strategy, cursor, key, and what would make it better. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.discovery.ranking import Candidate, Tells, ranked
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.model.cures import add_table
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor, NullPolicy
from incremental_assets.core.model.table_shape import Arrival, TableShape, is_small
from incremental_assets.core.strategies import Strategy
from incremental_assets.core.words import counted

_LARGE = 256 * 2**20
"""Bytes from which a look that reads all rows is a burden to the source: seconds of its time, every minute."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One table: its terms, the candidates behind them, why, and what to fix. Without terms it is left out, and `why` says so."""

    shape: TableShape
    terms: TableConfig | None
    why: str
    candidates: tuple[Candidate, ...] = ()
    fixes: tuple[str, ...] = ()
    lowest: CursorValue | None = None
    highest: CursorValue | None = None

    @property
    def taken(self) -> Candidate | None:
        """The candidate that is the cursor."""
        cursor = self.terms.cursor if self.terms else None
        return next((each for each in self.candidates if cursor and each.name == cursor.column), None)

    def keyed(self, key: tuple[str, ...]) -> Proposal:
        """The proposal with `primary_key` written in the file; unchanged where the table is left out."""
        return self if self.terms is None else replace(self, terms=replace(self.terms, primary_key=key))

    def left_out(self, why: str) -> Proposal:
        """The same table, not to be synced."""
        return replace(self, terms=None, why=why)


def propose(shape: TableShape, traits: TableTraits) -> Proposal:
    """The terms under which the first sync is right, and the next ones as light as the table allows."""
    candidates = ranked(traits)
    if not shape.readable:
        return Proposal(
            shape,
            None,
            f"the user that reads the source may not read this table: grant it, then {add_table(shape.id)} adds it",
        )
    if Arrival.VIEW in shape.arrivals or Arrival.FOREIGN in shape.arrivals:
        what = "view" if Arrival.VIEW in shape.arrivals else "foreign table"
        return Proposal(
            shape, None, f"a {what}: its rows are those of other tables; list it if the copy should have it"
        )
    changes = _best(candidates, Tells.CHANGES)
    births = _best(candidates, Tells.BIRTHS)
    key = _enforced_key(shape)
    deleted = _deleted(traits)
    if changes is not None and key:
        found = _followed(
            Proposal(shape, None, f"{changes.name} shows inserts and updates", candidates, deleted),
            changes,
            Strategy.UPSERT,
        )
        # The primary key is found by every sync itself.
        return found if shape.primary_key else found.keyed(key)
    if births is not None and traits.only_grows(shape.rows) and not _is_small(shape):
        why = f"only inserts have been counted ({traits.inserts:,}), in many transactions"
        return _followed(Proposal(shape, None, why, candidates), births, Strategy.APPEND)
    return _whole(shape, candidates, changes, births, traits)


def _followed(base: Proposal, taken: Candidate, strategy: Strategy) -> Proposal:
    """The terms by this candidate, and what would make it a better one."""
    traits, name, fixes = taken.traits, taken.name, list(base.fixes)
    cursor = Cursor(name, traits.type, zone=_zone(taken))
    if traits.column.nullable:
        stand_in = _fallback(base.candidates, taken)
        cursor = replace(cursor, fallback=stand_in) if stand_in else replace(cursor, nulls=NullPolicy.ALWAYS)
        meanwhile = f"go by {stand_in}" if stand_in else "are read by every sync"
        fixes.append(f"make {name} NOT NULL: rows without it {meanwhile}")
    if traits.indexed is False and not _is_small(base.shape):
        fixes.append(f"create an index on {name}: without one every look reads the whole table")
    table = base.shape.id
    return replace(base, terms=TableConfig(table.schema, table.name, strategy, cursor), fixes=tuple(fixes))


def _zone(taken: Candidate) -> str | None:
    """The zone that a default or a trigger names, of stamps without one."""
    stamps = taken.traits.column.stamps
    return (stamps.zone or None) if stamps and taken.traits.type in (CursorType.DATE, CursorType.DATETIME) else None


def _whole(
    shape: TableShape,
    candidates: tuple[Candidate, ...],
    changes: Candidate | None,
    births: Candidate | None,
    traits: TableTraits,
) -> Proposal:
    terms = TableConfig(shape.id.schema, shape.id.name, Strategy.FULL_REFRESH)
    if _is_small(shape) and changes is None:
        return Proposal(shape, terms, "small enough to be read whole", candidates)
    if changes is None and (by_transaction := _by_transaction(shape, candidates, births, traits)):
        return by_transaction
    if changes is not None:
        why = "no key tells which row an update belongs to"
        nullable = [column.name for column in shape.columns if column.nullable and column.name in shape.own_key]
        first = f"declare {', '.join(nullable)} of its key NOT NULL" if nullable else "add a primary key"
        fixes: tuple[str, ...] = (f"{first}, then it can be followed by {changes.name}",)
    elif births is not None:
        why = f"{births.name} shows inserts alone, and {_updates(shape, traits)}"
        fixes = (f"if its rows are never updated, follow it by {births.name} with `strategy: append`",)
    else:
        why = "no column tells which rows are new or were changed"
        fixes = ()
    if shape.bytes >= _LARGE:
        fixes = (*fixes, "it is large: add a column such as updated_at, set by a default and a trigger, with an index")
        if (numbering := _numbering(shape)) and _enforced_key(shape) and changes is None:
            hint = f"or follow it by `cursor: {{type: {numbering}}}`: each look then reads all of it in the source, unless nothing was written on the whole server"
            fixes = (*fixes, hint)
    return Proposal(shape, terms, why, candidates, fixes)


def _by_transaction(
    shape: TableShape, candidates: tuple[Candidate, ...], births: Candidate | None, traits: TableTraits
) -> Proposal | None:
    """A proposal by the transaction number that the source keeps of each row, without an index; None where it keeps none, without an enforced key, and for a large table."""
    numbering, key = _numbering(shape), _enforced_key(shape)
    if not numbering or not key or shape.bytes >= _LARGE:
        return None
    why = (
        f"{f'{births.name} shows inserts alone, and {_updates(shape, traits)}' if births else 'no column tells which rows are new or were changed'}, and {numbering} does: a look reads all of it "
        f"({shape.bytes / 2**20:,.0f} MiB) in the source, and only what changed moves; from {_LARGE // 2**20} MiB on that would weigh on the source"
    )
    cursor = Cursor(numbering, CursorType.INTEGER, by_transaction=True)
    terms = TableConfig(shape.id.schema, shape.id.name, Strategy.UPSERT, cursor)
    found = Proposal(shape, terms, why, candidates, _deleted(traits))
    return found if shape.primary_key else found.keyed(key)


def _updates(shape: TableShape, traits: TableTraits) -> str:
    """What is known of updates."""
    if traits.updates:
        return f"{counted(traits.updates, 'update')} counted"
    if traits.updates == 0 and traits.written is not None and not traits.written.show_life:
        how = "with nothing else written between them" if traits.written.are_single else "in bulk"
        return f"updates cannot be ruled out, as its rows came {how}, and a restore begins their count anew"
    if traits.updates == 0 and traits.inserts is not None and not traits.has_seen(shape.rows):
        return f"updates cannot be ruled out, as {counted(traits.inserts, 'insert')} of about {shape.rows:,} rows have been counted: the counts began anew"
    return "updates cannot be ruled out"


def _numbering(shape: TableShape) -> str:
    """The source's own word for what it keeps beside the columns; empty where it keeps nothing. One of the columns is a candidate like any other."""
    if shape.numbering is None or shape.numbering in shape.columns:
        return ""
    return shape.numbering.name.lower()


def _enforced_key(shape: TableShape) -> tuple[str, ...]:
    return shape.primary_key or next(iter(shape.unique_keys), ())


def _best(candidates: tuple[Candidate, ...], tells: Tells) -> Candidate | None:
    return next((each for each in candidates if each.tells is tells), None)


def _fallback(candidates: tuple[Candidate, ...], taken: Candidate) -> str | None:
    """A stamp of inserts of the same type, which is never NULL."""
    fitting = (
        each.name
        for each in candidates
        if each is not taken
        and each.traits.type is taken.traits.type
        and taken.traits.type.is_time
        and not each.traits.column.nullable
    )
    return next(fitting, None)


def _deleted(traits: TableTraits) -> tuple[str, ...]:
    if not traits.deletes:
        return ()
    return (
        f"{counted(traits.deletes, 'delete')} counted: the copy keeps such rows unless `deletes: {{mode: diff}}` follows them",
    )


def _is_small(shape: TableShape) -> bool:
    return is_small(shape.rows, shape.bytes)
