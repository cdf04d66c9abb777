"""How a copy's columns are named, which names clash, and what another way of naming does to a copy that has landed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import ColumnMissing, NameRefused, SchemaChanged
from incremental_assets.core.model.as_copied import as_copied, in_source
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.mask import Mask
from incremental_assets.core.model.naming import ColumnNames, snake_case
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, CursorType, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.renames import check_renames, renamed, renames_of
from incremental_assets.core.preview.preview_terms import terms_shown
from incremental_assets.core.strategies import Strategy
from tests.core.mistakes import in_source as written_in_source
from tests.core.mistakes import only_problem
from tests.core.test_masks import landed
from tests.scenario import ORDERS

SNAKE = ColumnNames.SNAKE_CASE


def shape(*names: str) -> TableShape:
    columns = [Column(name, "text", "string", Fidelity.EXACT) for name in names]
    key, at = replace(columns[0], spark_type="bigint"), replace(columns[-1], spark_type="timestamp")
    return TableShape(ORDERS, (key, *columns[1:-1], at), primary_key=(names[0],))


HOSTILE = shape("Order No.", "E-Mail", "shipTo", "Changed At")
TERMS = TableConfig(
    "public", "orders", Strategy.UPSERT, Cursor("Changed At", CursorType.TIMESTAMP), column_names=SNAKE
)  # fmt: skip


def resolved(names: ColumnNames, found: TableShape = HOSTILE, **changes: object) -> TableSpec:
    return resolve(replace(TERMS, column_names=names, **changes), found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        ("order_no", "order_no"),
        ("Order No.", "order_no"),
        ("orderNo", "order_no"),
        ("ORDER-NO", "order_no"),
        ("HTTPStatus2xx", "http_status2xx"),
        ("_id", "_id"),
        ("straße (Größe)", "straße_größe"),
        ("2nd line", "2nd_line"),
        ("***", ""),
    ],
)
def test_a_name_is_written_in_small_letters_digits_and_underscores(name: str, copied: str) -> None:
    assert snake_case(name) == copied
    assert snake_case(copied) == copied


def test_a_table_has_the_names_of_its_copy_and_is_asked_by_those_of_its_source() -> None:
    spec = resolved(SNAKE)

    assert spec.shape.names == ("order_no", "e_mail", "ship_to", "changed_at")
    assert (spec.key, spec.cursor_columns) == (("order_no",), ("changed_at",))
    own = in_source(spec)
    assert own.shape == resolved(ColumnNames.KEEP).shape
    assert (own.key, own.cursor_columns) == (("Order No.",), ("Changed At",))


def test_two_columns_that_would_be_one_are_refused_by_both_names_and_one_that_is_left_out_is_in_nobodys_way() -> None:
    twice = shape("id", "orderNo", "Order No", "at")
    with pytest.raises(NameRefused, match="the columns 'orderNo' and 'Order No' would both be 'order_no'"):
        resolved(SNAKE, twice, cursor=Cursor("at", CursorType.TIMESTAMP))

    spec = resolved(SNAKE, twice, cursor=Cursor("at", CursorType.TIMESTAMP), columns=ColumnChoice(exclude=("orderNo",)))
    assert spec.shape.names == ("id", "order_no", "at")
    assert in_source(spec).shape.names == ("id", "Order No", "at")
    assert in_source(spec).shape.left_out == ("orderNo",)


def test_a_column_of_whose_name_nothing_is_left_is_refused() -> None:
    with pytest.raises(NameRefused, match=r"leaves nothing of the column '\*\*\*'"):
        resolved(SNAKE, shape("id", "***", "Changed At"))


def test_a_name_that_would_be_one_of_ours_is_refused() -> None:
    with pytest.raises(NameRefused, match="begins with `_sync_`"):
        resolved(SNAKE, shape("id", "_Sync At", "Changed At"))


def test_what_concerns_the_copy_may_be_named_either_way() -> None:
    contract = Contract(rules=(ColumnRules("ship_to", nullable=False),))
    for name, masked in (("ship_to", "e_mail"), ("shipTo", "E-Mail")):
        spec = resolved(
            SNAKE,
            pii=(name,),
            columns=ColumnChoice(masks=((masked, Mask.REDACT),)),
            contract=replace(contract, rules=(ColumnRules(name, nullable=False),)),
        )
        assert (spec.pii, spec.masks[0].name, spec.contract) == (("ship_to",), "e_mail", contract)
        assert spec.terms.masks == "E-Mail: redact"
        assert in_source(spec.as_read).shape.names == HOSTILE.names


def test_by_what_the_source_is_asked_its_own_names_are_written() -> None:
    with pytest.raises(ColumnMissing, match="Changed At"):
        resolved(SNAKE, cursor=Cursor("changed_at", CursorType.TIMESTAMP))


def test_another_way_of_naming_renames_the_columns_of_a_copy_and_back() -> None:
    kept, snake = resolved(ColumnNames.KEEP), resolved(SNAKE)
    names = (
        Rename("Order No.", "order_no", "column_names"),
        Rename("E-Mail", "e_mail", "column_names"),
        Rename("shipTo", "ship_to", "column_names"),
        Rename("Changed At", "changed_at", "column_names"),
    )
    state = with_columns(kept)
    assert set(renames_of(snake, state)) == set(names)
    after = renamed(snake, state, renames_of(snake, state))
    assert after.terms.same(snake.terms)
    assert renames_of(snake, after) == ()

    back = renames_of(kept, with_columns(snake))
    assert set(back) == {Rename(each.after, each.before, "column_names") for each in names}
    check_renames(replace(snake, evolve=False), state, renames_of(snake, state))


def test_a_name_that_differs_by_case_alone_is_renamed_too() -> None:
    kept = resolved(ColumnNames.KEEP, shape("id", "Status", "at"), cursor=Cursor("at", CursorType.TIMESTAMP))
    snake = as_copied(kept, SNAKE)
    assert renames_of(snake, with_columns(kept)) == (Rename("Status", "status", "column_names"),)


def test_a_source_that_renames_a_column_to_what_the_copy_calls_it_changes_nothing() -> None:
    snake = resolved(SNAKE)
    now = resolved(SNAKE, shape("Order No.", "e_mail", "shipTo", "Changed At"))
    assert renames_of(now, with_columns(snake)) == ()
    with pytest.raises(SchemaChanged):
        check_renames(replace(now, evolve=False), None, (Rename("a", "b"),))


def test_the_way_of_naming_is_kept_with_what_landed_and_an_earlier_release_refuses_it() -> None:
    kept, snake = (with_columns(resolved(names)) for names in ColumnNames)
    assert state_of(snake.to_json()) == snake
    assert '"version":8' in snake.to_json()
    assert "column_names" not in kept.to_json()


def test_plan_says_what_the_copy_calls_the_columns() -> None:
    assert terms_shown(resolved(ColumnNames.KEEP)).columns == ""
    assert terms_shown(resolved(SNAKE)).columns == (
        "in the copy 'Changed At' is 'changed_at', 'E-Mail' is 'e_mail', 'Order No.' is 'order_no', 'shipTo' is 'ship_to'"
    )


@pytest.mark.parametrize(
    ("snippet", "cure"),
    [
        ("tables:\n  - table: public.a\n    capture: log\n    column_names: snake_case  #!\n", "remove it, or write a cursor"),
        ("column_names: snake_case\ntables:\n  - table: public.a\n    capture: log  #!\n", "write `column_names: keep` here"),
        ("column_names: upper  #!\n", "keep"),
    ],
)  # fmt: skip
def test_what_cannot_be_named_so_is_refused_with_its_line(tmp_path: Path, snippet: str, cure: str) -> None:
    assert cure in only_problem(tmp_path, written_in_source(snippet)).cure


def with_columns(spec: TableSpec) -> State:
    return replace(landed(spec), columns=tuple((name, "") for name in spec.shape.names))
