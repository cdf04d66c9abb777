"""Which rows break a contract, and why: of rows in Arrow, without Spark."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
import pytest
from pydantic import TypeAdapter, ValidationError
from pyspark import cloudpickle

from incremental_assets.adapters.contracts.judge import Judge, breaches, reasons
from incremental_assets.adapters.contracts.packing import judge_of
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.core.config.contract_document import ColumnRulesDocument
from incremental_assets.core.errors import ConfigurationError, ContractBroken
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import Strategy


def judge(*rules: ColumnRules, **types: str) -> Judge:
    columns = tuple(Column(name, kind, kind, Fidelity.EXACT) for name, kind in types.items())
    shape = TableShape(TableId("shop", "public", "orders"), columns)
    found = judge_of(TableSpec(shape, Strategy.FULL_REFRESH, contract=Contract(rules=rules)))
    assert found is not None
    return found


def by_hand(schema: pandera.DataFrameSchema, *names: str) -> Judge:
    return Judge("shop.public.orders", cloudpickle.dumps(schema), names)


def rows(kind: str, *values: object) -> pa.Table:
    return pa.table({"c0": pa.array(values, required_type(kind))})


def told(judge: Judge, rows: pa.Table) -> list[str | None]:
    """Of each row, why it breaks the contract."""
    return reasons(breaches(judge, rows), rows.num_rows)[1].to_pylist()


def test_a_row_is_told_every_reason_and_the_first_column() -> None:
    of = judge(
        ColumnRules("email", nullable=False, matches="^[^@]+@"),
        ColumnRules("total", ge=Decimal(0)),
        email="string",
        total="decimal(10,2)",
    )
    batch = pa.table(
        {
            "c0": pa.array(["a@x", None, "b", "c"]),
            "c1": pa.array(
                [Decimal("1.00"), Decimal("-1.00"), Decimal("0.00"), Decimal("-0.01")], pa.decimal128(10, 2)
            ),
        }
    )
    broken, why, columns = reasons(breaches(of, batch), 4)
    assert broken.tolist() == [False, True, True, True]
    assert why.to_pylist() == [
        None,
        "email: is NULL; total: ge 0",
        "email: matches ^[^@]+@",
        "email: matches ^[^@]+@; total: ge 0",
    ]
    assert columns.to_pylist() == [None, "email", "email", "email"]


def test_null_breaks_nullable_alone_and_nan_is_a_value() -> None:
    of = judge(ColumnRules("x", nullable=False, ge=0.0), x="double")
    assert told(of, rows("double", 1.0, None, float("nan"), -1.0)) == [
        None,
        "x: is NULL",
        "x: ge 0.0",
        "x: ge 0.0",
    ]


def test_null_where_it_may_be_breaks_no_rule() -> None:
    of = judge(ColumnRules("x", ge=0, isin=(1, 2)), x="bigint")
    assert told(of, rows("bigint", None, 1, 3)) == [None, None, "x: isin [1, 2]"]


def test_reasons_are_in_the_words_of_who_wrote_the_rule() -> None:
    of = judge(ColumnRules("x", matches="a", isin=("ab", "abc"), min_length=2, max_length=3), x="string")
    assert told(of, rows("string", "b", "abcd")) == [
        "x: matches a; x: isin [ab, abc]; x: min_length 2",
        "x: isin [ab, abc]; x: max_length 3",
    ]
    check = pandera.Check
    schema = pandera.DataFrameSchema(
        {"x": pandera.Column(checks=[check.ne(1), check.in_range(2, 3), check.lt(0, error="below zero")])}
    )
    assert told(by_hand(schema, "x"), rows("bigint", 1)) == ["x: ne 1; x: in_range 2, 3; x: below zero"]


def test_every_branch_of_a_pattern_begins_at_the_texts_beginning() -> None:
    for pattern in ("a|b", "^a|b", "^a|^b", "(?i)A|B"):
        assert told(judge(ColumnRules("x", matches=pattern), x="string"), rows("string", "a1", "b1", "xb", None)) == [
            None,
            None,
            f"x: matches {pattern}",
            None,
        ]


@pytest.mark.parametrize(
    ("pattern", "plays"),
    [
        *((foreign, False) for foreign in ("(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", r"(a)\1", "(?P<n>a)(?P=n)", r"a\Z")),
        *((foreign, False) for foreign in ("(a)?(?(1)b|c)", r"\u00e9", "a(?#note)")),
        *(
            (shared, True)
            for shared in ("(?:a)", "(?P<n>a)", "(?i)a", r"\(\?=a\)", "[(?=]", r"[]\]+]+", r"\d\w\s\b", "a*?")
        ),
    ],
)
def test_the_loader_refuses_what_the_engine_refuses(pattern: str, plays: bool) -> None:
    adapter = TypeAdapter(ColumnRulesDocument)
    if plays:
        assert adapter.validate_python({"matches": pattern}).matches == pattern
        assert told(judge(ColumnRules("x", matches=pattern), x="string"), rows("string", None)) == [None]
        return
    with pytest.raises(ValidationError, match="Arrow's RE2 applies it"):
        adapter.validate_python({"matches": pattern})
    with pytest.raises(ConfigurationError, match="no regular expression that Arrow's RE2 takes"):
        judge(ColumnRules("x", matches=pattern), x="string")


def test_large_numbers_beside_null_are_not_rounded() -> None:
    of = judge(ColumnRules("x", lt=2**53 + 1), x="bigint")
    assert told(of, rows("bigint", 2**53, 2**53 + 1, None)) == [None, f"x: lt {2**53 + 1}", None]


@pytest.mark.parametrize(
    ("kind", "rule", "good", "bad"),
    [
        ("tinyint", {"gt": 1}, 2, 1),
        ("float", {"le": 0.5}, 0.5, 0.75),
        ("decimal(20,0)", {"lt": Decimal(10)}, Decimal(9), Decimal(10)),
        ("decimal(10,2)", {"isin": (Decimal("1.5"),)}, Decimal("1.50"), Decimal("1.51")),
        ("boolean", {"isin": (True,)}, True, False),
        ("string", {"min_length": 2, "max_length": 3}, "äö", "a"),
        ("string", {"notin": ("odd",)}, "even", "odd"),
        ("date", {"ge": date(2020, 1, 1)}, date(9999, 12, 31), date(2019, 12, 31)),
        (
            "timestamp",
            {"ge": datetime(2020, 1, 1, tzinfo=UTC)},
            datetime(9999, 1, 1, tzinfo=UTC),
            datetime(1, 1, 1, tzinfo=UTC),
        ),
        (
            "timestamp_ntz",
            {"lt": datetime.fromisoformat("2020-01-01")},
            datetime.fromisoformat("2019-12-31T23:59:59.999999"),
            datetime.fromisoformat("2020-01-01"),
        ),
        (
            "timestamp",
            {"isin": (datetime(2020, 1, 1, tzinfo=UTC),)},
            datetime(2020, 1, 1, tzinfo=UTC),
            datetime(2020, 1, 2, tzinfo=UTC),
        ),
    ],
)
def test_rules_hold_for_every_type(kind: str, rule: dict[str, object], good: object, bad: object) -> None:
    of = judge(ColumnRules("x", **rule), x=kind)  # type: ignore[arg-type]
    answers = told(of, rows(kind, good, None, bad))
    assert answers[:2] == [None, None]
    assert answers[2] is not None


def test_no_rows_break_nothing() -> None:
    of = judge(ColumnRules("x", nullable=False, matches="a", min_length=1), x="string")
    assert told(of, rows("string")) == []


def test_every_one_of_800_columns_is_judged() -> None:
    names = [f"col_{number}" for number in range(800)]
    of = judge(*(ColumnRules(name, nullable=False, ge=0) for name in names), **dict.fromkeys(names, "int"))
    batch = pa.table({f"c{number}": pa.array([1, -1, None], pa.int32()) for number in range(800)})
    first, second, third = told(of, batch)
    assert first is None
    assert second == "; ".join(f"{name}: ge 0" for name in names)
    assert third == "; ".join(f"{name}: is NULL" for name in names)


def test_a_rule_between_columns_names_the_rows_and_no_column() -> None:
    schema = pandera.DataFrameSchema(checks=[pandera.Check(lambda frame: frame["a"] <= frame["b"], name="in_order")])
    batch = pa.table({"c0": pa.array([1, 3, None]), "c1": pa.array([2, 2, 2])})
    broken, why, columns = reasons(breaches(by_hand(schema, "a", "b"), batch), 3)
    assert broken.tolist() == [False, True, False]
    assert why.to_pylist() == [None, "in_order", None]
    assert columns.to_pylist() == [None, None, None]


def test_a_check_of_each_value_is_played_on_each() -> None:
    schema = pandera.DataFrameSchema(
        {"x": pandera.Column(None, pandera.Check(lambda value: value % 2 == 0, element_wise=True, name="even"))}
    )
    assert told(by_hand(schema, "x"), rows("bigint", 2, 3)) == [None, "x: even"]


def test_a_check_that_answers_once_for_all_rows_stops_the_table() -> None:
    schema = pandera.DataFrameSchema(
        {"x": pandera.Column(None, pandera.Check(lambda values: values.mean() > 0, name="positive_mean"))}
    )
    assert told(by_hand(schema, "x"), rows("bigint", 2, -1)) == [None, None]
    with pytest.raises(ContractBroken, match="as a whole break `x: positive_mean` of its contract, which names no row"):
        told(by_hand(schema, "x"), rows("bigint", -2))


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_a_check_that_raises_is_named_without_a_value(kind: type[BaseException]) -> None:
    def quotes(values: pd.Series) -> pd.Series:
        raise kind(f"cannot take {values.iloc[0]}")

    schema = pandera.DataFrameSchema({"x": pandera.Column(None, pandera.Check(quotes))})
    with pytest.raises(ContractBroken) as caught:
        told(by_hand(schema, "x"), rows("string", "secret"))
    assert f"the check `x: quotes` of its contract could not be run on the rows: it raised {kind.__name__}" in str(
        caught.value
    )
    assert "secret" not in str(caught.value)


def test_columns_are_taken_by_their_places() -> None:
    of = judge(ColumnRules("second", ge=0), first="int", second="int")
    assert told(of, pa.table({"c0": pa.array([-1]), "c1": pa.array([1]), "_sync_late": pa.array([False])})) == [None]
