"""The configuration met with the catalogue: what fits, and the sentence where something does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.resolve import resolve, resolve_all, vanished
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.errors import (
    ColumnMissing,
    CursorMistyped,
    NameRefused,
    NoPrimaryKey,
    SourceRefused,
    TableMissing,
)
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.history import History
from incremental_assets.core.model.table import Cursor, Strategy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, TableShape
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.target import AsLeft
from tests.core.mistakes import NOW, in_table

TYPES = {
    "id": ("bigint", "bigint"),
    "day": ("date", "date"),
    "at": ("timestamp without time zone", "timestamp_ntz"),
    "updated_at": ("timestamp with time zone", "timestamp"),
    "number": ("numeric(20,0)", "decimal(20,0)"),
    "price": ("numeric(15,2)", "decimal(15,2)"),
    "note": ("text", "string"),
}


def shape(
    name: str = "orders", schema: str = "public", columns: tuple[str, ...] = tuple(TYPES), **changes: object
) -> TableShape:
    made = tuple(Column(column, *TYPES.get(column, ("text", "string")), Fidelity.EXACT) for column in columns)
    return TableShape(TableId("shop", schema, name), made, **changes)  # type: ignore[arg-type]


def config(
    name: str = "orders", strategy: Strategy = Strategy.APPEND, cursor: Cursor | None = None, **changes: object
) -> TableConfig:
    return TableConfig("public", name, strategy, cursor, **changes)  # type: ignore[arg-type]


def source(*tables: TableConfig, **changes: object) -> SourceConfig:
    return SourceConfig("shop", "postgresql", tables=tables, **{"schemas": ("public",), **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("day", CursorType.DATE),
        ("at", CursorType.DATETIME),
        ("updated_at", CursorType.TIMESTAMP),
        ("id", CursorType.INTEGER),
        ("number", CursorType.INTEGER),
    ],
)
def test_a_cursor_of_the_columns_own_type_fits(column: str, kind: CursorType) -> None:
    assert resolve(config(cursor=Cursor(column, kind)), shape()).cursor == Cursor(column, kind)


@pytest.mark.parametrize(
    ("column", "kind", "cure"),
    [
        ("updated_at", CursorType.DATETIME, "write `timestamp`"),
        ("at", CursorType.TIMESTAMP, "write `datetime`"),
        ("at", CursorType.DATE, "write `datetime`"),
        ("day", CursorType.TIMESTAMP, "write `date`"),
        ("id", CursorType.TIMESTAMP, "write `integer`"),
        ("price", CursorType.INTEGER, "choose another column"),
        ("note", CursorType.TIMESTAMP, "choose another column"),
    ],
)
def test_a_cursor_of_another_type_is_refused_with_the_one_that_fits(column: str, kind: CursorType, cure: str) -> None:
    with pytest.raises(CursorMistyped, match=cure) as caught:
        resolve(config(cursor=Cursor(column, kind)), shape())
    assert TYPES[column][0] in str(caught.value)


def test_a_text_that_a_database_without_types_for_times_keeps_them_in_is_read_as_what_it_can_be() -> None:
    texts = replace(
        shape(), columns=(Column("at", "TEXT", "string", Fidelity.EXACT, readings=("timestamp_ntz", "date")),)
    )
    with pytest.raises(
        CursorMistyped, match=r"can be read as `(datetime|date)` or `(date|datetime)`: write which of these"
    ):
        resolve(config(cursor=Cursor("at", CursorType.TIMESTAMP)), texts)
    assert resolve(config(cursor=Cursor("at", CursorType.DATETIME)), texts).cursor is not None


def test_a_fallback_is_of_the_cursors_type() -> None:
    with pytest.raises(CursorMistyped, match="a fallback is of the cursor's own type"):
        resolve(config(cursor=Cursor("updated_at", CursorType.TIMESTAMP, fallback="day")), shape())


@pytest.mark.parametrize("role", ["cursor", "fallback", "key"])
def test_a_column_that_does_not_exist_is_refused_with_the_likeliest_first(role: str) -> None:
    cursor = {
        "cursor": Cursor("updatedat", CursorType.TIMESTAMP),
        "fallback": Cursor("updated_at", CursorType.TIMESTAMP, fallback="Updated_At"),
    }.get(role)
    key = ("updated",) if role == "key" else None
    with pytest.raises(ColumnMissing, match=f"the {role} column .* choose one of: updated_at"):
        resolve(config(cursor=cursor, primary_key=key), shape())


def test_a_rename_names_a_column_that_the_source_has_and_one_that_it_has_no_more() -> None:
    spec = resolve(config(renamed=(("remark", "note"),)), shape())
    assert spec.renamed == (("remark", "note"),)
    with pytest.raises(ColumnMissing, match="the `rename` column 'noet' does not exist; choose one of: note"):
        resolve(config(renamed=(("remark", "noet"),)), shape())
    with pytest.raises(SourceRefused, match="still has a column 'day'; rename it there first, or remove the entry"):
        resolve(config(renamed=(("day", "note"),)), shape())


def test_a_key_is_found_in_the_catalogue_and_is_enforced_there() -> None:
    spec = resolve(
        config(strategy=Strategy.UPSERT, cursor=Cursor("updated_at", CursorType.TIMESTAMP)),
        shape(primary_key=("id", "day")),
    )
    assert (spec.key, spec.key_enforced) == (("id", "day"), True)


@pytest.mark.parametrize(
    ("key", "enforced"), [(("day", "id"), True), (("number",), True), (("id",), False), (("id", "day", "note"), False)]
)
def test_a_given_key_is_enforced_where_the_source_enforces_just_that_key(key: tuple[str, ...], enforced: bool) -> None:
    found = shape(primary_key=("id", "day"), unique_keys=(("number",),))
    assert resolve(config(strategy=Strategy.UPSERT, primary_key=key), found).key_enforced is enforced


def test_an_upsert_without_a_key_is_refused() -> None:
    with pytest.raises(NoPrimaryKey, match="name it with `primary_key"):
        resolve(config(strategy=Strategy.UPSERT), shape())


def test_a_key_that_does_not_hold_for_inheriting_tables_is_not_said_to_be_missing() -> None:
    filled = tuple(replace(column, nullable=column.name != "id") for column in shape().columns)
    with pytest.raises(
        NoPrimaryKey, match=r"the source's own \(id\) does not hold for the rows of the tables that inherit"
    ):
        resolve(config(strategy=Strategy.UPSERT), replace(shape(), columns=filled, own_key=("id",)))


def test_a_view_without_columns_is_told_to_have_one_in_its_query() -> None:
    bare = replace(shape(), columns=(), arrivals=(Arrival.VIEW,))
    with pytest.raises(
        SourceRefused, match=r"this view has no columns .* have its query give one, grant it, or leave the view out"
    ):
        resolve(config(), bare)


def test_a_key_that_may_hold_null_is_not_said_to_be_missing() -> None:
    columns = (
        Column("code", "TEXT", "string", Fidelity.EXACT),
        Column("day", "TEXT", "string", Fidelity.EXACT, nullable=False),
    )
    with pytest.raises(
        NoPrimaryKey,
        match=r"the source's own \(code, day\) may hold NULL in code, which declares no NOT NULL; name it with",
    ):
        resolve(config(strategy=Strategy.UPSERT), replace(shape(), columns=columns, own_key=("code", "day")))


def test_a_table_without_columns_is_refused_by_name_and_stops_no_other() -> None:
    bare = replace(shape(), id=TableId("shop", "public", "bare"), columns=())
    resolved = resolve_all(source(), (shape(), bare))
    (problem,) = resolved.problems
    assert problem.table == bare.id
    assert "this table has no columns that this user may read, so there is nothing to copy; add a column, grant" in str(
        problem.error
    )
    assert len(resolved.specs) == 1


@pytest.mark.parametrize(("columns", "told"), [(("Id", "ID"), "differ by case alone"), (("_Sync_seq",), "_sync_")])
def test_names_that_the_lake_cannot_hold_are_refused(columns: tuple[str, ...], told: str) -> None:
    with pytest.raises(NameRefused, match=told):
        resolve(config(), shape(columns=columns))


@pytest.mark.parametrize("name", ["_sync_seq", "_valid_from"])
def test_a_column_with_a_name_of_the_lakes_own_is_left_out_as_the_refusal_says(tmp_path: Path, name: str) -> None:
    text = "table: public.orders\nstrategy: upsert\nhistory: scd2\nprimary_key: [id]\ncursor: {column: updated_at, type: timestamp}"
    there = shape(columns=("id", "updated_at", name))
    file = tmp_path / "sources.yaml"
    file.write_text(in_table(text), encoding="utf-8")
    with pytest.raises(NameRefused) as caught:
        resolve(load(file, now=NOW).sources[0].tables[0], there)
    cure = f"columns: {{exclude: [{name}]}}"
    assert f"leave it out: `{cure}`" in str(caught.value)
    file.write_text(in_table(f"{text}\n{cure}"), encoding="utf-8")
    assert resolve(load(file, now=NOW).sources[0].tables[0], there).shape.names == ("id", "updated_at")


def test_a_personal_column_that_is_misspelt_is_not_taken_for_none() -> None:
    assert resolve(config(pii=("note",), columns=ColumnChoice(exclude=("note",))), shape()).pii == ("note",)
    with pytest.raises(ColumnMissing, match="the `pii` column 'Note' does not exist; choose one of: note"):
        resolve(config(pii=("Note",)), shape())


def test_unlisted_tables_are_read_whole_unless_they_are_ignored() -> None:
    shapes = (shape(), shape("returns"), shape("other", schema="audit"))
    listed = config(cursor=Cursor("updated_at", CursorType.TIMESTAMP))
    whole = resolve_all(source(listed), shapes)
    assert [(str(spec.id), spec.strategy) for spec in whole.specs] == [
        ("shop.public.orders", Strategy.APPEND),
        ("shop.public.returns", Strategy.FULL_REFRESH),
    ]
    assert [spec.id.name for spec in resolve_all(source(listed, unlisted="ignore"), shapes).specs] == ["orders"]


def test_one_table_that_cannot_be_synced_does_not_stop_the_others() -> None:
    resolved = resolve_all(
        source(config("ordres"), config("returns", Strategy.UPSERT), config()), (shape(), shape("returns"))
    )
    assert [spec.id.name for spec in resolved.specs] == ["orders"]
    missing, keyless = resolved.problems
    assert isinstance(missing.error, TableMissing)
    assert "did you mean public.orders" in str(missing.error)
    assert isinstance(keyless.error, NoPrimaryKey)


def test_what_does_not_fit_the_catalogue_is_told_with_the_line_of_its_table(tmp_path: Path) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(
        in_table(
            """
            table: public.orders
            cursor: {column: changed_at, type: timestamp}
            """
        )
        + "\n      - public.returns:updated_at:date\n      - public.retruns:id:integer\n      - {table: public.bare, strategy: upsert, compare: {every: 1h}}",
        encoding="utf-8",
    )
    shapes = (shape(), shape("returns"), replace(shape("bare"), readable=False), shape("unlisted", columns=()))
    *listed, unlisted = resolve_all(load(file, now=NOW).sources[0], shapes).problems
    lines = file.read_text(encoding="utf-8").splitlines()
    found = [str(problem.error).rpartition(f" ({file}:")[2] for problem in listed]
    assert [lines[int(number.removesuffix(")")) - 1].strip() for number in found] == [
        "- table: public.orders",
        "- public.returns:updated_at:date",
        "- public.retruns:id:integer",
        "- {table: public.bare, strategy: upsert, compare: {every: 1h}}",
    ]
    assert "no columns" in str(unlisted.error)
    assert str(file) not in str(unlisted.error)


def test_a_table_whose_rows_are_hidden_from_the_reader_is_refused() -> None:
    with pytest.raises(
        SourceRefused, match=r"shop\.public\.orders: row-level security.*BYPASSRLS.*USING \(true\).*view"
    ):
        resolve(config(strategy=Strategy.FULL_REFRESH), shape(filtered=True))


def test_a_table_that_may_not_be_read_is_named_with_its_cure() -> None:
    resolved = resolve_all(source(), (shape(), shape("secret", columns=(), readable=False)))
    assert [spec.id.name for spec in resolved.specs] == ["orders"]
    (problem,) = resolved.problems
    assert problem.table.name == "secret"
    assert "may not read this table" in str(problem.error)
    assert "doctor --sql" in str(problem.error)
    assert "`exclude`" in str(problem.error)


def test_a_table_that_the_source_cannot_describe_is_named_where_it_is_wanted_and_stops_no_other() -> None:
    broken = shape("broken", columns=(), undescribed="no such table: lost")
    (problem,) = resolve_all(source(), (shape(), broken)).problems
    assert str(problem.error) == "shop.public.broken: no such table: lost"
    listed = config(strategy=Strategy.FULL_REFRESH)
    unwanted = resolve_all(source(listed, unlisted="ignore"), (shape(), broken))
    assert [spec.id.name for spec in unwanted.specs] == ["orders"]
    assert unwanted.problems == ()


def test_a_synced_table_that_the_source_has_no_more_is_missed() -> None:
    orders, returns = TableId("shop", "public", "orders"), TableId("shop", "public", "returns")
    landed = {
        table: Checkpoint(target=AsLeft("id", 3)) for table in (orders, returns, TableId("web", "public", "other"))
    }
    resolved = resolve_all(source(), (shape(),))
    (missed,) = vanished(source(), resolved, landed)
    assert missed.table == returns
    assert "its copy stays as it is" in str(missed.error)
    assert vanished(source(exclude=("returns",)), resolved, landed) == ()
    assert vanished(source(), resolved, {returns: Checkpoint()}) == (), "a reset forgets it"


def soft(column: str, value: str | None = None) -> TableConfig:
    deletes = Deletes(DeleteMode.SOFT, Then.REMOVE, column=column, value=value)
    cursor = Cursor("updated_at", CursorType.TIMESTAMP)
    return config(strategy=Strategy.UPSERT, cursor=cursor, primary_key=("id",), deletes=deletes)


def test_the_column_in_which_the_source_marks_its_rows_is_there_and_can_be_compared() -> None:
    columns = (*TYPES, "deleted", "state")
    made = shape(columns=columns)
    marked = replace(
        made,
        columns=tuple(
            replace(each, source_type="boolean", spark_type="boolean") if each.name == "deleted" else each
            for each in made.columns
        ),
    )
    for right in (soft("at"), soft("state", "gone"), soft("deleted", "true"), soft("id", "1")):
        assert resolve(right, marked).deletes == right.deletes
    with pytest.raises(ColumnMissing, match="'removed'"):
        resolve(soft("removed"), marked)
    with pytest.raises(SourceRefused, match="a boolean has one in every row; write `is: true` beside it"):
        resolve(soft("deleted"), marked)
    with pytest.raises(SourceRefused, match=r"compares 'price', a numeric\(15,2\), with `is: 1`"):
        resolve(soft("price", "1"), marked)
    padded = replace(
        marked,
        columns=tuple(
            replace(each, source_type="character(3)") if each.name == "state" else each for each in marked.columns
        ),
    )
    with pytest.raises(SourceRefused, match=r"padded with blanks.*write the mark with its blanks, as 3 characters"):
        resolve(soft("state", "Y"), padded)
    assert resolve(soft("state", "Y  "), padded).deletes.value == "Y  "


KEPT = config(strategy=Strategy.UPSERT, cursor=Cursor("id", CursorType.INTEGER), history=History.SCD2)


def test_a_history_needs_the_names_of_its_own_columns() -> None:
    taken = shape(columns=("id", "_Valid_To"), primary_key=("id",))
    with pytest.raises(NameRefused, match="'_Valid_To' has the name of one that `history: scd2` adds"):
        resolve(KEPT, taken)
    assert resolve(replace(KEPT, history=History.APPEND), taken).history is History.APPEND


def test_a_table_of_the_source_that_is_called_as_a_history_is_refuses_that_history_alone() -> None:
    found = resolve_all(source(KEPT), [shape(primary_key=("id",)), shape("orders__history")])
    assert [spec.id.name for spec in found.specs] == ["orders__history"]
    assert "shop.public.orders__history has the name of its history" in str(found.problems[0].error)


# --- columns -------------------------------------------------------------------------------------------


def test_a_column_that_is_left_out_is_as_if_the_source_did_not_have_it() -> None:
    made = resolve(config(columns=ColumnChoice(exclude=("note",), excluded_by_default=("price", "absent"))), shape())
    assert made.shape.names == ("id", "day", "at", "updated_at", "number")
    assert made.shape.left_out == ("price", "note")
    only = resolve(config(columns=ColumnChoice(include=("note", "id"))), shape())
    assert only.shape.names == ("id", "note")


@pytest.mark.parametrize("choice", [ColumnChoice(exclude=("notes",)), ColumnChoice(include=("id", "notes"))])
def test_a_chosen_column_that_does_not_exist_is_refused_with_the_likeliest_first(choice: ColumnChoice) -> None:
    with pytest.raises(ColumnMissing, match="the `columns` column 'notes' does not exist; choose one of: note"):
        resolve(config(columns=choice), shape())


@pytest.mark.parametrize(
    ("choice", "cure"),
    [
        (ColumnChoice(exclude=("id",)), "remove it from `exclude`, or"),
        (ColumnChoice(include=("note", "updated_at")), "add it to `include`"),
        (ColumnChoice(excluded_by_default=("id",)), "remove it from `exclude` under `defaults`"),
    ],
)
def test_the_key_that_the_source_tells_is_not_left_out(choice: ColumnChoice, cure: str) -> None:
    by = Cursor("updated_at", CursorType.TIMESTAMP)
    with pytest.raises(SourceRefused, match=f"leaves out 'id', which is a column of the key: {cure}"):
        resolve(config(cursor=by, strategy=Strategy.UPSERT, columns=choice), shape(primary_key=("id",)))


def test_what_leaves_nothing_is_refused() -> None:
    with pytest.raises(SourceRefused, match="leaves out every column"):
        resolve(config(columns=ColumnChoice(excluded_by_default=("a",))), shape(columns=("a",)))


LOGGED = config(strategy=Strategy.UPSERT, capture="log")


def test_a_table_that_is_read_from_the_log_is_a_plain_one_with_an_enforced_key() -> None:
    spec = resolve(LOGGED, shape(primary_key=("id",), splits=True))
    assert (spec.capture, spec.key, spec.key_enforced, spec.read_by) == ("log", ("id",), True, None)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (shape(primary_key=("id",)), "the log has the changes of tables, and this is a view"),
        (shape(primary_key=("day",), unique_keys=(), splits=False), "the log has the changes of tables"),
    ],
)
def test_what_is_no_plain_table_is_not_read_from_the_log(found: TableShape, sentence: str) -> None:
    with pytest.raises(SourceRefused, match=sentence):
        resolve(LOGGED, found)


def test_a_key_that_the_source_does_not_enforce_is_none_for_the_log() -> None:
    with pytest.raises(SourceRefused, match="by the log a row is identified by a key that cannot repeat"):
        resolve(replace(LOGGED, primary_key=("id",)), shape(splits=True))


def test_a_key_of_which_the_source_takes_values_for_equal_is_none_for_the_log() -> None:
    found = shape(primary_key=("note",), splits=True)
    columns = tuple(replace(each, collation="citext") if each.name == "note" else each for each in found.columns)
    with pytest.raises(SourceRefused, match=r"takes values of its key \(note\) for equal that a copy holds"):
        resolve(LOGGED, replace(found, columns=columns))
