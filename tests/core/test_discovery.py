"""What is proposed of a table: by the columns that tell of changes, by what the source counted, and never what a sync would refuse."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.discovery.judging import judged
from incremental_assets.core.discovery.proposal import Proposal
from incremental_assets.core.discovery.ranking import ranked
from incremental_assets.core.discovery.source_url import parse_url
from incremental_assets.core.discovery.traits import (
    ColumnTraits,
    Inserts,
    Sample,
    TableTraits,
    cursor_columns,
    from_catalogue,
)
from incremental_assets.core.discovery.written import comment, entries, scalar
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.column import Column, Fidelity, Sequence
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.stamping import BY_THE_SOURCE, Stamp, Stamping, Unproven
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, TableShape

HEAD = "lake: ./lake\ncheckpoints: sqlite:///c.db\nsources:\n  shop:\n    dialect: sqlite\n    database: shop.db\n    schemas: [main]\n    tables:\n"
LARGE = 10**9
ONE_BY_ONE, IN_BULK, IN_A_ROW = Inserts(1000, 970, 1400), Inserts(1000, 12, 12), Inserts(1000, 1000, 1003)
BY_NOBODY, BY_DEFAULT = Stamping(), Stamping(insert=Stamp())


def column(name: str, kind: str = "timestamp", *, nullable: bool = False, sequence: str = "") -> Column:
    drawn = Sequence(sequence) if sequence else None
    return Column(name, kind, kind, Fidelity.EXACT, nullable, sequence=drawn)


ID = column("id", "bigint", sequence="public.ids")


def table(*columns: Column, key: tuple[str, ...] = ("id",), size: int = LARGE, name: str = "orders") -> TableShape:
    return TableShape(TableId("shop", "main", name), columns, primary_key=key, rows=size // 100, bytes=size)


def told(shape: TableShape, **by_column: dict[str, object]) -> TableTraits:
    """Every column indexed and given by the database at inserts, unless something else is said of it."""
    found = []
    for each, kind in cursor_columns(shape):
        facts = {"indexed": True, "on_insert": True, "on_update": False} | by_column.get(each.name, {})
        found.append(ColumnTraits(each, kind, **facts))  # type: ignore[arg-type]
    return TableTraits(tuple(found))


def names(traits: TableTraits) -> list[str]:
    return [each.name for each in ranked(traits)]


def cursor_of(proposal: Proposal) -> tuple[Strategy | None, str | None]:
    terms = proposal.terms
    return (terms.strategy, terms.cursor.column if terms.cursor else None) if terms else (None, None)


def test_a_stamp_of_updates_comes_before_everything_that_tells_of_inserts_alone() -> None:
    shape = table(ID, column("created_at"), column("updated_at", nullable=True))
    worst = {"indexed": False, "on_insert": False, "sample": Sample(100, 60, 30, 40)}
    assert names(told(shape, updated_at=worst)) == ["updated_at", "id", "created_at"]


def test_of_two_stamps_of_updates_the_one_that_a_trigger_writes_is_taken() -> None:
    shape = table(ID, column("modified"), column("updated_at"))
    assert names(told(shape, modified={"on_update": True, "indexed": False}))[0] == "modified"


@pytest.mark.parametrize(
    "worse",
    [
        {"indexed": False},
        {"sample": Sample(1000, 0, 0, 400)},
        {"sample": Sample(1000, 0, 900, 0)},
        {"sample": Sample(1000, 200, 0, 0)},
        {"null_share": 0.3},
    ],
    ids=["no index", "goes back", "ties", "NULLs at the end", "NULLs by statistics"],
)
def test_each_weakness_costs_a_candidate_its_place(worse: dict[str, object]) -> None:
    shape = table(ID, column("a_updated", nullable=True), column("b_updated", nullable=True))
    sound = {"sample": Sample(1000, 0, 0, 0)}
    assert names(told(shape, a_updated=sound, b_updated=sound))[0] == "a_updated"
    assert names(told(shape, a_updated=sound | worse, b_updated=sound))[0] == "b_updated"


@pytest.mark.parametrize(("rows", "size", "fixes"), [(50, 2**14, 0), (50_000, 2**14, 1), (50, 2**24, 1)])
def test_an_index_is_advised_for_a_table_of_which_a_look_would_read_much(rows: int, size: int, fixes: int) -> None:
    shape = replace(table(ID, column("updated_at")), rows=rows, bytes=size)
    found = judged(shape, told(shape, updated_at={"indexed": False}))
    assert cursor_of(found) == (Strategy.UPSERT, "updated_at")
    assert len([fix for fix in found.fixes if fix.startswith("create an index on updated_at")]) == fixes


def test_a_birthday_is_no_candidate_and_a_stamp_that_is_always_null_is_none_either() -> None:
    shape = table(ID, column("birth_date", "date"), column("updated_at", nullable=True))
    empty = {"sample": Sample(50, 50, 0, 0), "on_insert": False}
    assert names(told(shape, birth_date={"on_insert": False}, updated_at=empty)) == ["id"]


def test_a_number_that_nothing_draws_is_no_candidate() -> None:
    assert [each.name for each, _ in cursor_columns(table(ID, column("quantity", "int")))] == ["id"]


def stamped(name: str, stamps: Stamping, kind: str = "timestamp") -> Column:
    return replace(column(name, kind), stamps=stamps)


@pytest.mark.parametrize(
    ("stamps", "within"),
    [
        (BY_THE_SOURCE, None),
        (BY_NOBODY, timedelta(minutes=15)),
        (BY_DEFAULT, timedelta(minutes=15)),
        (Stamping(Unproven("its default is odd"), Stamp()), None),
    ],
    ids=["a default and a trigger", "neither", "a default alone", "a default that is not known"],
)
def test_what_an_application_stamps_is_declared_with_a_comment_and_nothing_else_is(
    stamps: Stamping, within: timedelta | None, tmp_path: Path
) -> None:
    shape = table(ID, stamped("updated_at", stamps))
    proposal = judged(shape, told(shape))
    assert cursor_of(proposal) == (Strategy.UPSERT, "updated_at")

    text = entries([proposal], "      ")
    (tmp_path / "sources.yaml").write_text(HEAD + text, encoding="utf-8")
    (terms,) = load(tmp_path / "sources.yaml").source("shop").tables
    assert terms.cursor is not None
    assert (terms.cursor.within, terms.lookback) == (within, timedelta())
    assert ("let a default and a trigger" in " ".join(proposal.fixes)) is (within is not None)
    assert any("best_effort: its default is odd" in fix for fix in proposal.fixes) is (
        stamps.insert == Unproven("its default is odd")
    )


def test_a_zone_that_the_default_names_is_written() -> None:
    shape = table(ID, stamped("updated_at", Stamping(Stamp(zone="UTC"), Stamp(zone="UTC")), "timestamp_ntz"))
    proposal = judged(shape, told(shape))
    assert "zone: UTC" in entries([proposal], "")
    assert proposal.fixes == ()


def test_without_a_primary_key_a_unique_one_is_named() -> None:
    shape = replace(table(ID, column("updated_at"), key=()), unique_keys=(("id",),))
    proposal = judged(shape, told(shape))
    assert proposal.terms is not None
    assert proposal.terms.primary_key == ("id",)


def test_without_any_key_a_table_that_is_updated_is_read_whole() -> None:
    shape = table(column("name", "string"), column("updated_at"), key=())
    proposal = judged(shape, told(shape))
    assert cursor_of(proposal) == (Strategy.FULL_REFRESH, None)
    assert any("add a primary key" in fix for fix in proposal.fixes)


@pytest.mark.parametrize(
    ("counts", "strategy"),
    [
        ((200_000_000, 0, 0), Strategy.APPEND),
        ((200_000_000, 1, 0), Strategy.FULL_REFRESH),
        ((200_000_000, 0, 1), Strategy.FULL_REFRESH),
        ((0, 0, 0), Strategy.FULL_REFRESH),
        ((None, None, None), Strategy.FULL_REFRESH),
    ],
    ids=["inserts alone", "an update", "a delete", "nothing was counted", "nothing is known"],
)
def test_rows_are_only_appended_where_the_source_has_counted_nothing_but_inserts(
    counts: tuple[int | None, ...], strategy: Strategy
) -> None:
    shape = table(ID, column("created_at"))
    traits = replace(told(shape), inserts=counts[0], updates=counts[1], deletes=counts[2], written=ONE_BY_ONE)
    assert cursor_of(judged(shape, traits))[0] is strategy


def test_rows_that_came_in_bulk_show_no_life_without_updates_so_that_nothing_is_proposed_that_loses_them() -> None:
    """A restore begins the counters anew: all of the table is inserted, and nothing was updated since."""
    counted = {"inserts": 200_000_000, "updates": 0, "deletes": 0}
    plain, numbered = table(ID, column("created_at")), transactional(ID, column("created_at"), size=100 * MIB)
    for written in (IN_BULK, IN_A_ROW, None):
        restored = judged(numbered, replace(told(numbered), written=written, **counted))
        assert cursor_of(restored) == (Strategy.UPSERT, "xmin")
        assert cursor_of(judged(plain, replace(told(plain), written=written, **counted)))[0] is Strategy.FULL_REFRESH
    assert (
        "a restore begins their count anew" in judged(numbered, replace(told(numbered), written=IN_BULK, **counted)).why
    )
    assert cursor_of(judged(plain, replace(told(plain), written=ONE_BY_ONE, **counted)))[0] is Strategy.APPEND


XMIN = Column("xmin", "xid8", "bigint", Fidelity.EXACT, nullable=False)
MIB = 2**20


def transactional(*columns: Column, size: int, key: tuple[str, ...] = ("id",)) -> TableShape:
    return replace(table(*columns, size=size, key=key), numbering=XMIN)


def test_a_table_that_no_column_tells_of_is_followed_by_the_transaction_that_wrote_a_row_and_the_comment_says_at_what_cost() -> (
    None
):
    shape = transactional(Column("id", "text", "string", Fidelity.EXACT), column("price", "int"), size=100 * MIB)
    proposal = judged(shape, replace(told(shape), updates=7, deletes=2))
    text = entries([proposal], "")
    assert "  cursor: {type: xmin}\n  strategy: upsert" in text
    assert "partitions" not in text
    assert "no column tells which rows are new or were changed, and xmin does" in proposal.why
    assert "(100 MiB)" in proposal.why
    assert any("deletes: {mode: diff}" in fix for fix in proposal.fixes)


def test_where_a_column_shows_inserts_alone_and_rows_are_updated_so_is_it() -> None:
    shape = transactional(ID, column("created_at"), size=100 * MIB)
    proposal = judged(shape, replace(told(shape), inserts=200_000_000, updates=1, deletes=0))
    assert cursor_of(proposal) == (Strategy.UPSERT, "xmin")
    grown = judged(shape, replace(told(shape), inserts=200_000_000, updates=0, deletes=0, written=ONE_BY_ONE))
    assert cursor_of(grown) == (Strategy.APPEND, "id"), "what only grows needs no look at every row"


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        (transactional(ID, size=1000), "small enough to be read whole"),
        (transactional(ID, size=300 * MIB), "id shows inserts alone"),
        (transactional(ID, size=100 * MIB, key=()), "id shows inserts alone"),
        (table(ID, size=100 * MIB), "id shows inserts alone"),
    ],
    ids=["small", "too large to be read at each look", "no key", "a source that keeps nothing of the kind"],
)
def test_otherwise_it_is_read_whole(shape: TableShape, why: str) -> None:
    proposal = judged(shape, replace(told(shape), inserts=200_000_000, updates=1, deletes=0))
    assert cursor_of(proposal) == (Strategy.FULL_REFRESH, None)
    assert why in proposal.why
    is_said = any("`cursor: {type: xmin}`: each look then reads all of it" in fix for fix in proposal.fixes)
    assert is_said is (shape.bytes >= 256 * MIB), "of a large one a person may decide"


def test_what_is_proposed_of_it_is_read_back_as_it_was_meant(tmp_path: Path) -> None:
    shape = transactional(Column("id", "text", "string", Fidelity.EXACT), size=100 * MIB)
    proposal = judged(shape, told(shape))
    file = tmp_path / "sources.yaml"
    head = HEAD.replace(
        "dialect: sqlite\n    database: shop.db",
        "dialect: postgresql\n    host: localhost\n    database: shop\n    user: reader",
    )
    file.write_text(head + entries([proposal], "      ") + "\n", encoding="utf-8")
    (found,) = load(file).source("shop").tables
    assert found.cursor is not None
    assert (found.strategy, found.cursor.by_transaction) == (Strategy.UPSERT, True)


@pytest.mark.parametrize(
    ("inserts", "strategy"), [(100_000, Strategy.APPEND), (95_000, Strategy.APPEND), (50, Strategy.FULL_REFRESH)]
)
def test_counts_that_began_anew_behind_most_of_the_rows_prove_no_update_away(inserts: int, strategy: Strategy) -> None:
    shape = replace(table(ID), rows=100_000)
    proposal = judged(shape, replace(told(shape), inserts=inserts, updates=0, deletes=0, written=ONE_BY_ONE))
    assert proposal.terms is not None
    assert proposal.terms.strategy is strategy
    said = "50 inserts of about 100,000 rows have been counted: the counts began anew" in proposal.why
    assert said is (strategy is Strategy.FULL_REFRESH)


def test_a_small_table_is_read_whole_though_it_only_grows() -> None:
    shape = table(ID, size=10_000)
    traits = replace(told(shape), inserts=100, updates=0, deletes=0, written=ONE_BY_ONE)
    assert cursor_of(judged(shape, traits)) == (Strategy.FULL_REFRESH, None)


def test_rows_without_a_stamp_go_by_that_of_their_insert_or_are_read_by_every_sync() -> None:
    stamp = column("updated_at", nullable=True)
    with_births, without = table(ID, column("created_at"), stamp), table(ID, stamp)
    first, second = judged(with_births, told(with_births)), judged(without, told(without))
    assert [
        (each.terms.cursor.fallback, str(each.terms.cursor.nulls))
        for each in (first, second)
        if each.terms and each.terms.cursor
    ] == [
        ("created_at", "fail"),
        (None, "always"),
    ]


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        (replace(table(ID), arrivals=(Arrival.VIEW,)), "a view"),
        (
            replace(table(ID), readable=False, columns=()),
            "grant it, then `incremental-assets init --tables main.orders`",
        ),
        (replace(table(ID), filtered=True), "row-level security"),
        (table(ID, column("ID", "bigint")), "differ by case alone"),
        (table(ID, column("_sync_x", "string")), "begins with `_sync_`"),
        (table(key=()), "no columns"),
    ],
    ids=["view", "unreadable", "filtered", "case", "own name", "empty"],
)
def test_what_a_sync_would_refuse_is_left_out_with_the_reason(shape: TableShape, why: str) -> None:
    proposal = judged(shape, from_catalogue(shape))
    assert proposal.terms is None
    assert why in proposal.why
    assert entries([proposal], "").startswith("# main.orders: left out")


def test_a_sequence_that_sessions_draw_from_in_advance_is_told_beforehand() -> None:
    shape = table(replace(ID, sequence=Sequence("public.ids", cache=50)))
    traits = replace(told(shape), inserts=200_000_000, updates=0, deletes=0, written=ONE_BY_ONE)
    assert any("best_effort" in fix and "CACHE 50" in fix for fix in judged(shape, traits).fixes)


HOSTILE = [
    'a"b',
    "x:y",
    "null",
    "true",
    "100%$1",
    "a # b",
    "- a",
    "{a}",
    "übér 表",
    "tab\there",
    "line\nbreak",
    "back\\slash",
    "'",
    "\x7f\x85",
    "😀",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_name_holds_the_text_is_read_back_as_it_was_meant(name: str, tmp_path: Path) -> None:
    shape = table(column(name, "bigint"), column(f"{name} updated"), key=(), name=name)
    shape = replace(shape, unique_keys=((name,),))
    proposal = judged(shape, told(shape))

    (tmp_path / "sources.yaml").write_text(HEAD + entries([proposal], "      "), encoding="utf-8")
    (terms,) = load(tmp_path / "sources.yaml").source("shop").tables

    assert (terms.name, terms.primary_key) == (name, (name,))
    assert terms.cursor is not None
    assert terms.cursor.column == f"{name} updated"


def test_a_comment_stays_on_its_line_and_a_word_of_yaml_is_quoted() -> None:
    assert comment("a\nb\x1b") == "a\\nb\\x1b"
    assert (scalar("orders"), scalar("public.orders"), scalar("no"), scalar("1")) == (
        "orders",
        "public.orders",
        '"no"',
        '"1"',
    )


@pytest.mark.parametrize(
    ("kind", "lowest", "highest", "grid"),
    [
        (CursorType.TIMESTAMP, "2021-03-14T00:00:00Z", "2026-11-24T00:00:00Z", "every: month, from: 2021-03-01"),
        (CursorType.TIMESTAMP, "2026-11-03T10:00:00Z", "2026-11-24T00:00:00Z", "every: day, from: 2026-11-03"),
        (CursorType.TIMESTAMP, "-infinity", "2026-11-24T00:00:00Z", None),
        (CursorType.TIMESTAMP, "0001-01-01T00:00:00Z", "2026-11-24T00:00:00Z", None),
        (CursorType.INTEGER, "1", "20000", "size: 100000"),
        (CursorType.INTEGER, "1", "2500000000", "size: 100000000"),
        (CursorType.INTEGER, "-9223372036854775808", "9223372036854775807", "size: 1000000"),
        (CursorType.INTEGER, "-1", "9223372036854775807", "size: 1000000"),
        (CursorType.INTEGER, "1", "2147483647", "size: 1000000"),
        (CursorType.INTEGER, "1", "7223372036854775807", "size: 100000000000000000"),
    ],
)
def test_partitions_follow_the_range_of_the_cursor(
    kind: CursorType, lowest: str, highest: str, grid: str | None
) -> None:
    shape = table(ID, column("updated_at")) if kind.is_time else table(ID)
    traits = replace(told(shape), inserts=200_000_000, updates=0, deletes=0, written=ONE_BY_ONE)
    found = replace(
        judged(shape, traits), lowest=CursorValue.parse(kind, lowest), highest=CursorValue.parse(kind, highest)
    )
    lines = [line.strip() for line in entries([found], "").splitlines() if "partitions" in line]
    assert lines == ([f"partitions: {{{grid}}}"] if grid else [])


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@db.example.com/shop",
        "postgresql://me@db.example.com/shop?password=hunter2",
        "postgres://me:hunter2@[broken/shop",
        "hunter2",
        "postgresql://db.example.com/shop?hunter2",
        "postgresql://me@db.example.com/shop?sslkey=hunter2",
        "sqlite://hunter2@/x",
        "hunter2://me@host/db",
        "postgresql://me@host:hunter2/db",
    ],
)
def test_an_address_that_is_refused_shows_nothing_of_a_password(url: str) -> None:
    with pytest.raises(SelectionError) as refused:
        parse_url(url)
    assert "hunter2" not in str(refused.value) or url.startswith("hunter2://")


def test_an_address_becomes_the_keys_of_a_source() -> None:
    found = parse_url("postgres://sync%20reader@db.example.com:6432/web-shop?sslmode=require")
    assert (found.name, found.variable) == ("web_shop", "WEB_SHOP_PASSWORD")
    assert found.keys(has_password=True) == [
        "dialect: postgresql",
        "host: db.example.com",
        "port: 6432",
        "database: web-shop",
        'user: "sync reader"',
        "password: {env: WEB_SHOP_PASSWORD}",
        "tls: require",
    ]
    file = parse_url("sqlite:///data/my.shop.db")
    assert (file.name, file.keys(has_password=False)) == ("my", ["dialect: sqlite", 'database: "data/my.shop.db"'])
