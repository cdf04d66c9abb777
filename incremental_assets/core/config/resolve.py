"""The configuration matched with the catalogue: each table as it will be synced, or one sentence that says why it cannot be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from incremental_assets.core.config.chosen_columns import chosen_columns
from incremental_assets.core.config.contracts import typed_contract
from incremental_assets.core.config.copied_names import by_source_names
from incremental_assets.core.config.masks import with_masks
from incremental_assets.core.config.settings import LOG, SourceConfig, TableConfig
from incremental_assets.core.config.terms import matches_of, takes, unlisted_terms
from incremental_assets.core.config.where import check_where
from incremental_assets.core.errors import (
    ColumnMissing,
    CursorMistyped,
    IncrementalAssetsError,
    NameRefused,
    NoPrimaryKey,
    SourceRefused,
    TableMissing,
)
from incremental_assets.core.model.alike import alike
from incremental_assets.core.model.as_copied import as_copied
from incremental_assets.core.model.change_columns import version_columns, with_changes
from incremental_assets.core.model.collation_key import collated
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cures import rows_hidden
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.deletes import Deletes
from incremental_assets.core.model.history import History
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.layout import USUAL, Matched, Taken, Target, usual
from incremental_assets.core.model.mask import MaskKey
from incremental_assets.core.model.row_condition import columns_of
from incremental_assets.core.model.schema_drift import check_names
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_match import is_glob
from incremental_assets.core.model.table_shape import Arrival, TableShape
from incremental_assets.core.planning.as_landed import as_landed
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.strategies import traits_of

_FITS = {"date": CursorType.DATE, "timestamp_ntz": CursorType.DATETIME, "timestamp": CursorType.TIMESTAMP}
_READ_AS = {**{kind: name for name, kind in _FITS.items()}, CursorType.INTEGER: "bigint"}
_COMPARED = ("boolean", "tinyint", "smallint", "int", "bigint", "string")
_PADDED = re.compile(r"character\((\d+)\)")
"""A type whose texts all have one length."""
_WHOLE = re.compile(r"smallint|int|bigint|decimal\(\d+,0\)")


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A table that cannot be synced as it is configured, and why."""

    table: TableId
    error: IncrementalAssetsError


@dataclass(frozen=True, slots=True)
class Resolved:
    """All tables of a source: those that can be synced, listed ones first, and those that cannot."""

    specs: tuple[TableSpec, ...]
    problems: tuple[Unresolved, ...]

    def with_key(self, key: MaskKey | None) -> Resolved:
        """The same with the key of their tokens."""
        return replace(self, specs=tuple(replace(each, mask_key=key) if each.masks else each for each in self.specs))

    def as_landed(self, positions: Mapping[TableId, Checkpoint]) -> Resolved:
        """The same as their copies have them: without the new columns of tables that discard them, and without collation keys that never landed."""
        specs = (as_landed(spec, positions.get(spec.id, Checkpoint()).state) for spec in self.specs)
        return replace(self, specs=tuple(specs))


def resolve_all(source: SourceConfig, shapes: Sequence[TableShape]) -> Resolved:
    """Every listed table, and the unlisted ones if they are wanted; one that cannot be synced does not stop the others."""
    found = {shape.id: shape for shape in shapes}
    listed = {config.id(source.name): config for config in source.tables}
    others = [shape.id for shape in shapes if shape.id not in listed and takes(source, shape.id)]
    wanted = [*listed.items(), *((table, unlisted_terms(source, table)) for table in others)]
    places = _places(source, wanted, frozenset(listed))
    specs: list[TableSpec] = []
    problems: list[Unresolved] = []
    for table, config in wanted:
        try:
            shape = found.get(table)
            if shape is None:
                raise _missing(table, found)
            if table not in listed:
                _check_one_match(source, table)
                _check_no_history(source, table)
            if config.history is not History.NONE and table.history in dict(wanted):
                raise NameRefused(
                    f"{table}: the table {table.history} has the name of its history; add it to `exclude`, or remove `history`"
                )
            if table in places:
                raise NameRefused(
                    f"{table}: its copy would lie where that of {places[table]} lies, or in or around it; write another `target`, or add the table to `exclude`"
                )
            specs.append(resolve(config, shape))
        except IncrementalAssetsError as error:
            problems.append(Unresolved(table, error.at(config.place)))
    return Resolved(tuple(specs), tuple(problems))


def vanished(
    source: SourceConfig, resolved: Resolved, positions: Mapping[TableId, Checkpoint]
) -> tuple[Unresolved, ...]:
    """Unlisted tables that have been synced and are no longer in the source: without this their end would go unnoticed."""
    seen = {*(spec.id for spec in resolved.specs), *(problem.table for problem in resolved.problems)}
    return tuple(
        Unresolved(table, gone(table))
        for table in sorted(positions)
        if positions[table].target is not None
        and table.source == source.name
        and table not in seen
        and takes(source, table)
    )


def unconfigured(
    sources: Sequence[SourceConfig], positions: Mapping[TableId, Checkpoint]
) -> tuple[tuple[TableId, str], ...]:
    """Tables that have been synced and that no source of the configuration takes any more, and what there is to say of each."""
    by_name = {source.name: source for source in sources}
    found = []
    for table, position in sorted(positions.items()):
        source = by_name.get(table.source)
        listed = source is not None and any(table == config.id(source.name) for config in source.tables)
        synced = position.target is not None or position.state is not None
        if synced and not listed and (source is None or not takes(source, table)):
            why = "" if source else f", as this file has no source {table.source!r}"
            found.append((table, f"{table}: no longer configured{why}; its copy stays as the last sync left it"))
    return tuple(found)


def gone(table: TableId) -> TableMissing:
    """What there is to say of a table that was synced and is no longer in the source."""
    name = render_table(table.schema, table.name)
    return TableMissing(
        table,
        f"; it has been synced before, and its copy stays as it is: if it was dropped or renamed, add {name!r} to `exclude`",
    )


def resolve(config: TableConfig, shape: TableShape) -> TableSpec:
    """One table. Raises ColumnMissing, ConfigurationError, CursorMistyped, NoPrimaryKey, NameRefused, and SourceRefused where table or rows are hidden from the reader."""
    _check_readable(shape)
    config = by_source_names(config, shape)
    # In `pii` a name that is nobody's would hide nothing.
    for role, names in (("columns", config.columns.named), ("pii", config.pii), ("where", columns_of(config.where))):
        for name in names:
            _check_column(shape, f"`{role}`", name)
    _check_renamed(shape, config.renamed)
    shape = chosen_columns(config, shape)
    cursor = config.cursor
    if cursor is not None and cursor.by_transaction:
        shape, cursor = _by_transaction(shape, cursor)
    elif cursor is not None:
        kind = _READ_AS[cursor.type]
        shape = shape.read_as(dict.fromkeys(cursor.columns, kind))
        _check_cursor(shape, cursor, "cursor", cursor.column)
        if cursor.fallback is not None:
            _check_cursor(shape, cursor, "fallback", cursor.fallback)
    if config.deletes.column:
        _check_mark(shape, config.deletes)
    check_where(shape, config.where)
    key = shape.primary_key if config.primary_key is None else config.primary_key
    for name in key:
        _check_column(shape, "key", name)
    if traits_of(config.strategy).one_row_per_key and not key:
        nullable = tuple(column.name for column in shape.columns if column.nullable and column.name in shape.own_key)
        raise NoPrimaryKey(shape.id, shape.own_key, nullable)
    _check_key(shape, config, cursor, key)
    spec = TableSpec(
        shape=shape,
        strategy=config.strategy,
        cursor=cursor,
        key=key,
        key_enforced=_is_enforced(shape, key),
        lookback=config.lookback,
        holdback=config.holdback,
        future=config.future,
        start=config.start,
        where=config.where,
        refresh_every=config.refresh_every,
        schedule=config.schedule,
        target=_target(config, shape.id),
        register=config.register,
        compares=config.compares,
        evolve=config.schema_changes != "freeze",
        widens=config.schema_changes == "widen",
        discards=config.schema_changes == "discard",
        renamed=config.renamed,
        pii=config.pii,
        deletes=config.deletes,
        contract=None if config.contract is None else typed_contract(config.contract, shape),
        history=config.history,
        capture=config.capture,
        readers=config.readers,
    )
    spec = as_copied(with_masks(_logged(collated(spec)), config.columns.masks), config.column_names)
    _check_history(spec)
    check_names(spec)
    return spec


def _check_one_match(source: SourceConfig, table: TableId) -> None:
    found = matches_of(source, table)
    if len(found) > 1:
        entries = " and ".join(f"{each.match} in line {each.terms.line}" for each in found)
        raise NameRefused(
            f"{table}: {entries} stand for it, each with terms of its own; list the table, write narrower globs, or add it to `exclude`"
        )


def _check_no_history(source: SourceConfig, table: TableId) -> None:
    """The lake finds the places of a glob's tables by their names, and so those of their histories."""
    for each in source.matches:
        terms = each.terms
        if terms.target is None or terms.history is History.NONE:
            continue
        if Matched(source.name, each.match, terms.target, keeps_history=True).stands_for_history(table):
            raise NameRefused(
                f"{table}: it has the name of a history of the tables that {each.match} in line {terms.line} stands for; list it, or add it to `exclude`"
            )


def _target(config: TableConfig, table: TableId) -> str:
    found = usual(table) if config.target is None else config.target.segments(table)
    return "" if found == usual(table) else "/".join(found)


def _places(
    source: SourceConfig, wanted: Sequence[tuple[TableId, TableConfig]], listed: Collection[TableId]
) -> dict[TableId, TableId]:
    """Tables whose copies would lie where that of another one does, and which; the listed ones come first, among which the file has none.

    Of two that are not listed neither goes on: the one that came later may be the first by name, and would land in the other's copy.
    """
    if source.target is None and not any(config.target for _, config in wanted):
        return {}
    taken, found = Taken(), dict[TableId, TableId]()
    for table, config in wanted:
        target = config.target or Target(USUAL)
        beside = () if config.history is History.NONE else (target.of_history.segments(table.history),)
        for segments in (target.segments(table), *beside):
            other = taken.take(table, segments)
            if other is not None and other != table:
                found[table] = other
                if other not in listed:
                    found.setdefault(other, table)
    return found


def _logged(spec: TableSpec) -> TableSpec:
    """What its capture makes of the table."""
    if spec.capture != LOG:
        return spec
    if spec.collation_key is not None:
        raise SourceRefused(
            f"{spec.id}: the source takes values of its key ({', '.join(spec.named_key)}) for equal that a copy holds differently, and the log does not have what tells them "
            "apart; remove `capture`, and write a cursor or `compare: {every: 1h}`, or name another key"
        )
    return with_changes(spec) if spec.traits.keeps_versions else spec


def _check_readable(shape: TableShape) -> None:
    if not shape.readable:
        raise SourceRefused(
            f"{shape.id}: the user that reads the source may not read this table; grant it, `incremental-assets doctor --sql` prints the statements, "
            "or leave the table out: remove it from `tables`, or add it to `exclude`"
        )
    if shape.undescribed:
        raise SourceRefused(f"{shape.id}: {shape.undescribed}")
    if shape.filtered:
        raise SourceRefused(rows_hidden(shape.id))
    if not shape.columns:
        what, cure = (
            ("view", "have its query give one") if Arrival.VIEW in shape.arrivals else ("table", "add a column")
        )
        raise SourceRefused(
            f"{shape.id}: this {what} has no columns that this user may read, so there is nothing to copy; {cure}, grant it, or leave the {what} out"
        )


def cursor_type_of(column: Column) -> CursorType | None:
    """The type of a cursor by this column; None where it can be none."""
    return CursorType.INTEGER if _WHOLE.fullmatch(column.spark_type) else _FITS.get(column.spark_type)


def _check_column(shape: TableShape, role: str, name: str) -> None:
    if name not in shape.names:
        # The likeliest come first, as a wide table's list is cut.
        near = _near(name, shape.names)
        raise ColumnMissing(shape.id, role, name, (*near, *(other for other in shape.names if other not in near)))


def _check_renamed(shape: TableShape, renamed: Sequence[tuple[str, str]]) -> None:
    """A new name that is mistyped would pass for no rename at all."""
    for before, after in renamed:
        if before in shape.names:
            raise SourceRefused(
                f"{shape.id}: `rename` says that {before!r} is now {after!r}, and the source still has a column {before!r}; rename it there first, or remove the entry"
            )
        _check_column(shape, "`rename`", after)


def _by_transaction(shape: TableShape, cursor: Cursor) -> tuple[TableShape, Cursor]:
    """The table with the number of each row's transaction as a column that lands, and the cursor by it. Raises SourceRefused where the table shows none."""
    if shape.numbering is None:
        raise SourceRefused(
            f"{shape.id}: a cursor of the type xmin, rowversion or ora_rowscn needs a table that shows the transaction of each of its rows, and this one does "
            "not (a view, an external or a foreign table does not, nor a table of which only some columns are granted, nor one without a column of the type "
            "rowversion where that is asked for); grant SELECT on the whole table, add that column, or choose another cursor, "
            "`strategy: upsert` with `compare: {every: 1h}` where a table can be compared, or `strategy: full_refresh`"
        )
    return shape.numbered(), replace(cursor, column=shape.numbering.name, is_own=shape.numbering in shape.columns)


def _check_key(shape: TableShape, config: TableConfig, cursor: Cursor | None, key: tuple[str, ...]) -> None:
    """What tells rows, or versions of them, by a key needs one that cannot repeat."""
    if cursor is not None and cursor.by_transaction and not cursor.is_own and not _is_enforced(shape, key):
        raise SourceRefused(
            f"{shape.id}: by `{cursor.column.lower()}` the later of two rows cannot be known, and the source enforces no key on ({', '.join(key)}); "
            "add a primary key or a unique index on columns that are NOT NULL, or choose another cursor"
        )
    if config.capture == LOG:
        # Changes that are all kept need none.
        _check_logged(shape, key, needed=bool(key) or not traits_of(config.strategy).keeps_versions)
    if config.compares and not _is_enforced(shape, key):
        raise SourceRefused(
            f"{shape.id}: `compare` tells rows by a key of which there is one row each, and the source enforces none on ({', '.join(key)}); "
            "add a primary key or a unique index on columns that are NOT NULL, or choose `strategy: full_refresh`"
        )
    if config.deletes.marks and traits_of(config.strategy).keeps_versions and not _is_enforced(shape, key):
        raise SourceRefused(
            f"{shape.id}: `deletes: {{mode: diff}}` tells versions of a row by its key, and the source enforces none; add a primary key, or remove `deletes`"
        )


def _check_logged(shape: TableShape, key: tuple[str, ...], *, needed: bool) -> None:
    if not (shape.splits or shape.is_partitioned or shape.by_itself):
        raise SourceRefused(
            f"{shape.id}: the log has the changes of tables, and this is a view, a foreign table, has a partition that is one, is granted by its columns, "
            "is of another engine than InnoDB where the server has several, or keeps its old rows itself (SYSTEM VERSIONING); remove `capture`, and write a cursor or `compare: {every: 1h}`"
        )
    if not shape.logged:
        raise SourceRefused(
            f"{shape.id}: it, or a partition of it, is UNLOGGED, whose changes are in no log; as its owner run ALTER TABLE … SET LOGGED, or remove `capture`, and write a cursor"
        )
    if needed and not _is_enforced(shape, key):
        raise SourceRefused(
            f"{shape.id}: by the log a row is identified by a key that cannot repeat, and the source enforces none on ({', '.join(key)}); "
            "add a primary key or a unique index on columns that are NOT NULL"
        )


def _check_mark(shape: TableShape, deletes: Deletes) -> None:
    """A column in which rows are marked is compared as text, which only some types have in one way on both sides."""
    _check_column(shape, "deletes", deletes.column)
    column = next(column for column in shape.columns if column.name == deletes.column)
    if deletes.value is None and column.spark_type == "boolean":
        raise SourceRefused(
            f"{shape.id}: `deletes` takes any value of {column.name!r} for a mark, and a boolean has one in every row; write `is: true` beside it"
        )
    if deletes.value is not None and column.spark_type not in _COMPARED:
        raise SourceRefused(
            f"{shape.id}: `deletes` compares {column.name!r}, a {column.source_type}, with `is: {deletes.value}`, which it can of a boolean, a whole number "
            "or a text; without `is`, any value in it marks a row"
        )
    width = _PADDED.fullmatch(column.source_type)
    if deletes.value is not None and width and len(deletes.value) != int(width[1]):
        raise SourceRefused(
            f"{shape.id}: `deletes` compares {column.name!r}, a {column.source_type}, whose texts are padded with blanks, with `is: {deletes.value}`, which none "
            f"of them is; write the mark with its blanks, as {width[1]} characters in quotes"
        )


def _check_history(spec: TableSpec) -> None:
    """A version carries columns of its own beside those of its row."""
    taken = [name for name in spec.shape.names if name.lower() in version_columns(spec.history, spec.capture)]
    if taken:
        raise NameRefused(
            f"{spec.id}: the column {taken[0]!r} has the name of one that `history: {spec.history}` adds; rename it, leave it out: `columns: {{exclude: [{taken[0]}]}}`, or remove `history`"
        )


def _check_cursor(shape: TableShape, cursor: Cursor, role: str, name: str) -> None:
    _check_column(shape, role, name)
    column = next(column for column in shape.columns if column.name == name)
    fitting = cursor_type_of(column)
    if fitting is cursor.type:
        return
    read_as = [f"`{kind}`" for kind in CursorType if _READ_AS[kind] in column.readings]
    if fitting is None and read_as:
        fits = f"its values can be read as {' or '.join(read_as)}: write which of these they are"
    elif fitting is None:
        fits = "a cursor is a date, a timestamp or a whole number; choose another column, or sync this table by `strategy: full_refresh`"
    else:
        fits = (
            f"write `{fitting}`"
            if role == "cursor"
            else f"a fallback is of the cursor's own type, this one is `{fitting}`"
        )
    possible = [fitting] if fitting else [kind for kind in CursorType if _READ_AS[kind] in column.readings]
    error = CursorMistyped(shape.id, name, str(cursor.type), column.source_type, fits)
    error.instead = str(possible[0]) if role == "cursor" and len(possible) == 1 else ""
    raise error


def _is_enforced(shape: TableShape, key: tuple[str, ...]) -> bool:
    """Whether the source itself sees to it that no two rows have this key; the order of its columns is nothing to that."""
    enforced = {frozenset(known) for known in (shape.primary_key, *shape.unique_keys) if known}
    return frozenset(key) in enforced


def _missing(table: TableId, found: Iterable[TableId]) -> TableMissing:
    near = [render_table(known.schema, known.name) for known in alike(str(table), found)[:3]]
    if is_glob(f"{table.schema}.{table.name}"):
        return TableMissing(table, f"; a glob over several tables is written `match: {table.schema}.{table.name}`")
    return TableMissing(table, f"; did you mean {' or '.join(near)}?" if near else "")


def _near(name: str, names: Sequence[str]) -> tuple[str, ...]:
    alike = {other.casefold(): other for other in names}
    return tuple(alike[match] for match in difflib.get_close_matches(name.casefold(), list(alike), n=3))
