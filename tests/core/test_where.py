"""The text of `where`: what is a condition, and that nothing else ever becomes a part of one."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest

from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.core.captures.database.position import UNREAD
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.config.where import FORM, check_where, parse_where
from incremental_assets.core.errors import SourceRefused, TermsChanged
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.row_condition import (
    Among,
    Compared,
    Constant,
    Joined,
    Missing,
    Negated,
    columns_of,
)
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.preflight import check_terms, rows_can_stay
from incremental_assets.core.preview.preview_terms import terms_shown
from tests.fakes import World
from tests.scenario import ORDERS, orders, shop

SEVEN = Compared("tenant_id", "=", Constant("number", "7"))
PAID = Compared("status", "=", Constant("text", "paid"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tenant_id = 7", SEVEN),
        ("  tenant_id=7\n", SEVEN),
        ('"tenant_id" = 7', SEVEN),
        ("`tenant_id` = 7", SEVEN),
        ("((tenant_id = 7))", SEVEN),
        ("tenant_id = 7 AND status = 'paid'", Joined("AND", (SEVEN, PAID))),
        ("tenant_id = 7 or status = 'paid'", Joined("OR", (SEVEN, PAID))),
        ("tenant_id = 7 OR status = 'paid' AND gone", Joined("OR", (SEVEN, Joined("AND", (PAID, Compared("gone", "=", Constant("truth", "true"))))))),
        ("NOT status = 'paid'", Negated(PAID)),
        ("NOT NOT status = 'paid'", PAID),
        ("status IS NULL", Missing("status")),
        ("status IS NOT NULL", Negated(Missing("status"))),
        ("status IN ('a', 'it''s')", Among("status", (Constant("text", "a"), Constant("text", "it's")))),
        ("price >= -1.50", Compared("price", ">=", Constant("number", "-1.50"))),
        ("status LIKE 'a%'", Compared("status", "LIKE", Constant("text", "a%"))),
        ('"order" <> 1', Compared("order", "<>", Constant("number", "1"))),
        ('"a""b" = 1', Compared('a"b', "=", Constant("number", "1"))),
    ],
)  # fmt: skip
def test_a_condition_compares_columns_with_constants(text: str, found: object) -> None:
    assert parse_where(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1=1) OR (",
        "1=1) OR (1=1",
        "tenant_id = 7) OR (tenant_id = 8",
        "tenant_id = 7 -- only ours",
        "tenant_id = 7 /* only ours */",
        "tenant_id = 7; DROP TABLE orders",
        "tenant_id = 7 #",
        "1 = 1",
        "TRUE",
        "tenant_id = (SELECT 7)",
        "tenant_id IN (SELECT id FROM tenants)",
        "tenant_id = other_id",
        "updated_at > now()",
        "lower(status) = 'paid'",
        "updated_at > current_date",
        "tenant_id = 7 UNION SELECT 1",
        "tenant_id = 7 AND",
        "tenant_id =",
        "tenant_id = 7 7",
        "tenant_id = 7x",
        "tenant_id = 1e9",
        "tenant_id = $1",
        "tenant_id = ?",
        "tenant_id = :a",
        "tenant_id = %s",
        "status = 'open",
        "status = E'\\x27'",
        "status = $$a$$",
        "status = N'a'",
        "status || 'a' = 'b'",
        "tenant_id::text = '7'",
        "o.tenant_id = 7",
        "tenant_id NOT = 7",
        "tenant_id IS 7",
        "tenant_id IN ()",
        "status LIKE status",
        "\u2018status\u2019 = 1",
    ],
)
def test_whatever_is_none_is_refused_with_what_may_be_written(text: str) -> None:
    with pytest.raises(ValueError, match=r"cannot stand there|ends too early") as refused:
        parse_where(text)
    assert FORM in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("status = 'a\x00b'", "cannot be printed"),
        ("status LIKE 'a\\%'", "backslash"),
        ("(" * 40 + "a = 1" + ")" * 40, "parentheses within each other"),
        ("a = 1 OR " * 1_000 + "a = 1", "at most 4,000 characters"),
    ],
)
def test_what_databases_would_read_in_several_ways_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_where(text)


PIECES = ("tenant_id", "=", "7", "'", '"', "(", ")", "or", "--", "\\", "1=1", ";", "in", "not", "%", "status")


def test_no_text_of_four_pieces_becomes_more_than_comparisons_that_stand_in_parentheses() -> None:
    """Every one that is taken is written anew from what was understood, and is understood so again."""
    spec = orders()
    shape = replace(
        spec.shape,
        columns=(*spec.columns, *(Column(name, "text", "string", Fidelity.EXACT) for name in ("tenant_id", "or"))),
    )
    taken = 0
    for pieces in product(PIECES, repeat=4):
        text = " ".join(pieces)
        try:
            found = parse_where(text)
        except ValueError:
            continue
        taken += 1
        assert parse_where(str(found)) == found
        if set(columns_of(found)) <= {column.name for column in shape.columns}:
            sql = read_from(replace(spec, shape=shape, where=found), "TRUE")
            assert sql.startswith(f'FROM "public"."{spec.id.name}" AS t WHERE (')
            assert sql.endswith(") AND (TRUE)")
            assert _depths(sql) >= 0
    assert taken > 10


def _depths(sql: str) -> int:
    """The least depth of parentheses outside of quotes, once the first has been opened and until the last is closed."""
    depth, least, quote, opened = 0, 1, "", False
    for sign in sql[:-1]:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            depth += (sign == "(") - (sign == ")")
            opened = opened or depth > 0
            least = min(least, depth)
    assert not quote
    return least


COLUMNS = (
    Column("tenant_id", "integer", "int", Fidelity.EXACT),
    Column("status", "text", "string", Fidelity.EXACT),
    Column("price", "numeric", "string", Fidelity.TEXT),
    Column("gone", "boolean", "boolean", Fidelity.EXACT),
    Column("due", "date", "date", Fidelity.EXACT),
    Column("seen", "timestamp with time zone", "timestamp", Fidelity.EXACT),
    Column("photo", "bytea", "binary", Fidelity.EXACT),
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tenant_id = '7'", "`where` compares 'tenant_id' (integer) with '7'; write a number, without quotes"),
        ("status = 7", "write a text, in single quotes"),
        ("gone = 1", "write TRUE or FALSE"),
        ("status", "write a text, in single quotes"),
        ("due > '2024-02-30'", "write a day"),
        ("due > '20240201'", "write a day"),
        ("seen > 'yesterday'", "write a moment"),
        ("seen > '2024-01-31T10:00:00Z'", "write a moment"),
        ("photo = 'a'", "nothing but IS NULL"),
        ("tenant_id LIKE '7%'", "LIKE is for texts"),
    ],
)
def test_a_constant_of_another_kind_than_its_column_is_refused(text: str, why: str) -> None:
    with pytest.raises(SourceRefused) as refused:
        check_where(TableShape(ORDERS, COLUMNS), parse_where(text))
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "tenant_id = 7 AND status LIKE 'a%' AND price > 9.5 AND NOT gone",
        "due >= '2024-02-29' OR seen < '2024-02-29 10:00:00.5' OR photo IS NULL",
    ],
)
def test_constants_of_the_kinds_of_their_columns_are_taken(text: str) -> None:
    check_where(TableShape(ORDERS, COLUMNS), parse_where(text))


def test_texts_of_a_type_that_takes_not_every_text_are_compared_as_the_copy_has_them() -> None:
    kinds = {"mood": "mood", "id": "uuid", "note": "character varying(9)"}
    shape = TableShape(ORDERS, tuple(Column(name, kind, "string", Fidelity.TEXT) for name, kind in kinds.items()))
    spec = replace(orders(), shape=shape)

    def where(text: str) -> str:
        return read_from(replace(spec, where=parse_where(text))).partition(" WHERE ")[2]

    assert where("mood = 'sad'") == """(CAST(t."mood" AS text) = 'sad')"""
    assert where("id = 'none'") == """(CAST(t."id" AS text) = 'none')"""
    assert where("id = '7a1dd2de-7b6f-4d39-bf2e-7e0a9f7b9c01'") == (
        """(t."id" = '7a1dd2de-7b6f-4d39-bf2e-7e0a9f7b9c01')"""
    )
    assert where("note = 'a\\b'") == """(t."note" =  E'a\\\\b')"""


def test_another_condition_is_another_table_until_everything_is_read_again() -> None:
    before, now = replace(orders(), where=parse_where("id = 7")), replace(orders(), where=parse_where("id = 8"))
    state = State("app", 1, "batch", before.terms, UNREAD)

    check_terms(replace(before, where=parse_where(' ("id"=7)')), state)
    with pytest.raises(TermsChanged) as refused:
        check_terms(now, state)
    assert "(where id = 7 -> id = 8): put them back, or read everything again with" in str(refused.value)
    assert "reset" not in str(refused.value)
    with pytest.raises(TermsChanged, match="where id = 7 -> none"):
        check_terms(orders(), state)
    assert not rows_can_stay(state.terms, now.terms)


def test_a_state_keeps_the_condition_and_an_earlier_release_refuses_it() -> None:
    plain = State("app", 1, "batch", orders().terms, UNREAD)
    told = replace(plain, terms=replace(plain.terms, where="id = 7"))

    assert state_of(told.to_json()) == told
    assert (json.loads(plain.to_json())["version"], json.loads(told.to_json())["version"]) == (3, 5)
    assert "where" not in json.loads(plain.to_json())["terms"]


def test_rows_that_landed_under_another_condition_are_not_kept_by_a_reset() -> None:
    world = World(shop())
    world.sync(orders())
    with pytest.raises(TermsChanged, match=r"`where` is another one, .* read everything again with .*--full-refresh"):
        reset_table(
            spec=replace(orders(), where=parse_where("id = 7")), to=None, run_id="reset", checkpoints=world.checkpoints
        )


@pytest.mark.parametrize(
    ("spec", "goes"),
    [
        (orders(), "stays in the copy as it was, as `deletes` is not `mode: diff`"),
        (replace(orders(), deletes=Deletes(DeleteMode.DIFF)), "counts as deleted when keys are compared"),
        (orders(Strategy.FULL_REFRESH), "leaves the copy"),
        (replace(orders(), cursor=None, compares=True), "leaves the copy"),
    ],
)
def test_a_plan_says_which_rows_are_read_and_what_becomes_of_one_that_is_none_any_more(
    spec: TableSpec, goes: str
) -> None:
    shown = terms_shown(replace(spec, where=parse_where("id=7 and (customer='ada' or customer is null)")))
    assert shown.where == (
        f"only rows with id = 7 AND (customer = 'ada' OR customer IS NULL) are read; one that no longer is such a row {goes}"
    )
    assert terms_shown(spec).where == ""
