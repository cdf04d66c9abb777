"""`register`: names of copies in data catalogues, and what is refused when the file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.registration import Catalogue, NameTemplate, Place, Registration
from incremental_assets.core.model.table_id import TableId
from tests.core.mistakes import NOW, only_problem, problems

FILE = """\
lake: s3://bucket/lake
checkpoints: sqlite:///c.db
sources:
  shop:
    dialect: sqlite
    database: shop.db
    schemas: [main, public]
    unlisted: full_refresh
"""
CURSOR = "cursor: {column: at, type: timestamp}, strategy: upsert"


def names(folder: Path, text: str, *tables: str) -> list[list[str]]:
    (folder / "sources.yaml").write_text(text)
    source = load(folder / "sources.yaml", now=NOW).source("shop")
    found = [TableId("shop", "public", name) for name in tables]
    return [[str(each.of(table)) for each in terms_of(source, table).register] for table in found]


def test_copies_are_named_as_their_source_says_or_the_table_itself(tmp_path: Path) -> None:
    text = (
        FILE
        + f"""\
    register: {{glue: {{database: lake, region: eu-central-1}}}}
    tables:
    - "public.Order Items:id:integer"
    - {{table: public.own, {CURSOR}, register: {{spark: {{database: "main.{{schema}}", table: "{{source}}__{{table}}"}}}}}}
    - {{table: public.secret, {CURSOR}, register: never}}
    - {{match: "public.t_*", {CURSOR}, register: {{glue: {{database: "{{schema}}", table: "{{table}}"}}}}}}
"""
    )
    assert names(tmp_path, text, "Order Items", "own", "secret", "t_1", "Unlisted!") == [
        ["AWS Glue (eu-central-1) as lake.public_order_items"],
        ["Spark's catalogue as main.public.shop__own"],
        [],
        ["AWS Glue as public.t_1"],
        ["AWS Glue (eu-central-1) as lake.public_unlisted_"],
    ]


def test_nothing_is_made_known_of_which_nothing_is_said(tmp_path: Path) -> None:
    assert names(tmp_path, FILE, "orders") == [[]]


def test_names_are_in_small_letters_and_have_no_character_that_no_catalogue_takes() -> None:
    table = TableId("shop", "public", 'Ümläut "x".y-1')
    registration = Registration(Catalogue.GLUE, NameTemplate("lake"), region="eu-central-1")
    assert registration.of(table) == Place(Catalogue.GLUE, "lake", "public__ml_ut__x__y_1", "eu-central-1")


MISTAKES = [
    ("    register: {glue: {database: Lake}} #!\n", "Lake", "write small letters, digits"),
    ("    register: {glue: {database: a.b}} #!\n", "a.b", "write small letters, digits"),
    ("    register: {glue: {database: lake, region: eu}} #!\n", "eu", "write a region of AWS, like eu-central-1"),
    ("    register: {spark: {database: a.b.c}} #!\n", "a.b.c", "a catalogue and a database in it, as in main.lake"),
    ("    register: {spark: {database: lake, table: '{name}'}} #!\n", "{name}", "the names {source}, {schema} and"),
    (
        "    register: {glue: {database: lake, table: orders}} #!\n",
        "orders",
        "all tables of this source would have one",
    ),
    ("    register: {} #!\n", "register", "write at least one key with its value"),
    (
        f"    tables:\n    - {{match: 'public.t_*', {CURSOR}, register: {{glue: {{database: lake, table: t}}}}}} #!\n",
        "t",
        "several tables that this glob stands for would have one name; write `{table}` into it",
    ),
]


@pytest.mark.parametrize(("snippet", "text", "cure"), MISTAKES)
def test_what_is_no_name_or_one_for_several_tables_is_refused(
    tmp_path: Path, snippet: str, text: str, cure: str
) -> None:
    found = only_problem(tmp_path, FILE + snippet)
    assert (found.text, cure in found.cure) == (text, True), found


def test_a_source_of_any_kind_may_have_it(tmp_path: Path) -> None:
    text = (
        FILE.split("sources:", maxsplit=1)[0]
        + """\
sources:
  drops:
    dialect: files
    folder: ./drops
    register: {glue: {database: lake}}
    files:
      drops.orders: {path: "orders/*.parquet", format: parquet}
    tables:
    - {table: drops.orders, strategy: append}
"""
    )
    (tmp_path / "sources.yaml").write_text(text)
    (table,) = load(tmp_path / "sources.yaml", now=NOW).source("drops").tables
    assert [str(each.of(table.id("drops"))) for each in table.register] == ["AWS Glue as lake.drops_orders"]


def test_glue_is_for_a_lake_in_s3(tmp_path: Path) -> None:
    text = (
        FILE.replace("s3://bucket/lake", "./lake")
        + f"""\
    register: {{glue: {{database: lake}}, spark: {{database: lake}}}}
    tables:
    - {{table: public.orders, {CURSOR}, register: {{glue: {{database: lake}}}}}}
"""
    )
    found = problems(tmp_path, text)
    assert [each.line for each in found] == [9, 11]
    assert all("those who ask AWS Glue read S3 alone" in each.cure for each in found)


TWICE = [
    (f"- {{table: public.a b, {CURSOR}}}\n    - {{table: public.A_b, {CURSOR}}} #!", "lake.public_a_b"),
    (
        f"- {{table: public.a, {CURSOR}, history: scd2}}\n    - {{table: public.A__history, {CURSOR}}} #!",
        "public_a__history",
    ),
    (
        f"- {{table: public.a, {CURSOR}}}\n    - {{table: public.b, {CURSOR}, register: {{glue: {{database: lake, table: public_a}}}}}} #!",
        "lake.public_a",
    ),
]


@pytest.mark.parametrize(("tables", "name"), TWICE)
def test_two_tables_of_one_name_are_refused(tmp_path: Path, tables: str, name: str) -> None:
    found = only_problem(tmp_path, f"{FILE}    register: {{glue: {{database: lake}}}}\n    tables:\n    {tables}\n")
    assert f"{name} is the name of the table in line 11; write another `register` at one of them" in found.cure


def test_so_are_tables_of_two_sources_but_not_in_two_databases_or_regions(tmp_path: Path) -> None:
    other = '  mall:\n    dialect: sqlite\n    database: mall.db\n    register: {{glue: {}}}\n    tables: ["public.orders:id:integer"]\n'
    one = FILE + '    register: {glue: {database: lake}}\n    tables: ["public.orders:id:integer"]\n'
    (found,) = problems(tmp_path, one + other.format("{database: lake}"))
    assert (found.line, "of the table in line 10" in found.cure) == (15, True)
    for elsewhere in (
        "{database: mall}",
        "{database: lake, region: eu-west-1}",
        "{database: lake, table: '{source}_{table}'}",
    ):
        (tmp_path / "sources.yaml").write_text(one + other.format(elsewhere))
        load(tmp_path / "sources.yaml", now=NOW)
