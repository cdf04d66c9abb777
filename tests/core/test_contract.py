"""Contracts in the configuration: as written, and in the types of the columns that they judge."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.config import load as config
from incremental_assets.core.config.passable import impassable
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import ColumnMissing, ConfigurationError
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.contract import ColumnRules, Contract, OnBreach
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape

HEAD = """
lake: ./lake
checkpoints: sqlite:///c.db
sources:
  shop:
    dialect: postgresql
    host: localhost
    database: shop
    user: reader
    tables:
"""


def table(folder: Path, lines: str) -> TableConfig:
    file = folder / "sources.yaml"
    file.write_text(HEAD + lines, encoding="utf-8")
    (source,) = config.load(file).sources
    (found,) = source.tables
    return found


def shape(**types: str) -> TableShape:
    columns = tuple(Column(name, kind, kind, Fidelity.EXACT) for name, kind in types.items())
    return TableShape(TableId("shop", "public", "orders"), columns)


def test_a_contract_in_full_keeps_its_rules_and_its_place(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        '      - table: public.orders\n        contract: {email: {nullable: false, matches: "^[^@]+@", unique: true}, '
        "total: {ge: 0}, status: {isin: [new, paid]}}\n        max_fraction: 0.1\n",
    )
    assert found.contract == Contract(
        rules=(
            ColumnRules("email", nullable=False, unique=True, matches="^[^@]+@"),
            ColumnRules("total", ge="0"),
            ColumnRules("status", isin=("new", "paid")),
        ),
        max_fraction=0.1,
        file=str(tmp_path / "sources.yaml"),
        line=12,
    )


def test_a_model_is_named_by_module_and_class(tmp_path: Path) -> None:
    found = table(
        tmp_path, "      - table: public.orders\n        contract: contracts.shop:Orders\n        on_breach: fail\n"
    )
    assert found.contract is not None
    assert (found.contract.model, found.contract.on_breach) == ("contracts.shop:Orders", OnBreach.FAIL)


def test_a_table_without_a_contract_has_none(tmp_path: Path) -> None:
    assert table(tmp_path, "      - table: public.orders\n").contract is None


def test_constants_get_the_type_of_their_column(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        "      - table: public.orders\n        contract: {id: {gt: 0}, total: {ge: 0.10}, day: {lt: 2030-01-01}, at: {ge: 2020-01-01T00:00:00Z}, "
        "paid: {isin: [true]}, rate: {le: 1.5}, status: {notin: [1]}}\n",
    )
    spec = resolve(
        found,
        shape(
            id="bigint",
            total="decimal(10,2)",
            day="date",
            at="timestamp",
            paid="boolean",
            rate="double",
            status="string",
        ),
    )
    assert spec.contract is not None
    assert spec.contract.rules == (
        ColumnRules("id", gt=0),
        ColumnRules("total", ge=Decimal("0.10")),
        ColumnRules("day", lt=date(2030, 1, 1)),
        ColumnRules("at", ge=datetime(2020, 1, 1, tzinfo=UTC)),
        ColumnRules("paid", isin=(True,)),
        ColumnRules("rate", le=1.5),
        ColumnRules("status", notin=("1",)),
    )


def test_a_column_that_does_not_exist_is_named(tmp_path: Path) -> None:
    found = table(tmp_path, "      - table: public.orders\n        contract: {emial: {nullable: false}}\n")
    with pytest.raises(ColumnMissing, match="the contract column 'emial' does not exist; choose one of: email"):
        resolve(found, shape(email="string"))


BOUND = st.none() | st.integers(0, 4)
SOME = st.none() | st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


@given(BOUND, BOUND, BOUND, BOUND, SOME, SOME)
def test_rules_are_refused_exactly_where_no_whole_number_keeps_them(
    ge: int | None,
    gt: int | None,
    le: int | None,
    lt: int | None,
    isin: tuple[int, ...] | None,
    notin: tuple[int, ...] | None,
) -> None:
    keeping = [
        number
        for number in range(-9, 14)
        if (ge is None or number >= ge)
        and (gt is None or number > gt)
        and (le is None or number <= le)
        and (lt is None or number < lt)
        and (isin is None or number in isin)
        and (notin is None or number not in notin)
    ]
    hidden = notin is not None and isin is None and None not in (ge if gt is None else gt, le if lt is None else lt)
    refused = impassable(ColumnRules("x", ge=ge, gt=gt, le=le, lt=lt, isin=isin, notin=notin)) is not None
    assert refused is not bool(keeping) or hidden


@pytest.mark.parametrize(
    ("rule", "kind", "cure"),
    [
        ("{ge: many}", "int", "write a whole number to compare it with"),
        ("{ge: soon}", "date", "write a day like 2024-01-31"),
        ("{ge: 2020-01-01T00:00:00Z}", "timestamp_ntz", "a moment without a zone"),
        ("{isin: [yes]}", "boolean", "write true or false"),
        ("{matches: a}", "int", "`matches` is for texts"),
        ("{ge: 1}", "boolean", "`ge` compares what has an order"),
        ("{isin: [1]}", "binary", "`isin` cannot be written for it; use a pandera model"),
        ("{ge: 10, lt: 9}", "int", "`ge: 10` and `lt: 9` leave no value that could pass"),
        ("{gt: 1, lt: 2}", "bigint", "`gt: 1` and `lt: 2` leave no value that could pass"),
        ("{gt: 1.0, le: 1.00}", "decimal(10,2)", "`gt: 1.0` and `le: 1.00` leave no value that could pass"),
        ("{isin: [1, 2], ge: 10}", "int", "none of [1, 2] keeps the other rules"),
        ("{ge: nan}", "double", "nothing is more or less than NaN"),
        ("{ge: nan}", "decimal(10,2)", "write a number to compare it with"),
    ],
)
def test_a_rule_that_does_not_fit_its_column_is_a_mistake_of_the_file(
    tmp_path: Path, rule: str, kind: str, cure: str
) -> None:
    found = table(tmp_path, f"      - table: public.orders\n        contract: {{x: {rule}}}\n")
    with pytest.raises(ConfigurationError) as caught:
        resolve(found, shape(x=kind))
    assert str(caught.value).startswith(f"{tmp_path / 'sources.yaml'}:12: 'contract: x': the column is {kind}")
    assert cure in str(caught.value)
