"""Is what nothing can pass, what says nothing and what no program can hold refused where it stands, in one sentence?"""

from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from tests.core.mistakes import NOW, in_source, in_table, only_problem, problems

CURSOR = "cursor: {column: updated_at, type: timestamp}"
NUMBERED = "cursor: {column: id, type: integer}"

IN_TABLES = [
    ("contract: {x: {ge: 3, lt: 1}} #!", "1", "`ge: 3` and `lt: 1` leave no value that could pass"),
    ("contract: {x: {gt: 2024-01-02, lt: 2024-01-01}} #!", "2024-01-01", "leave no value"),
    ("contract: {x: {gt: 5, le: 5}} #!", "5", "`gt: 5` and `le: 5` leave no value"),
    ("contract: {x: {ge: 3, gt: 5, lt: 4, le: 9}} #!", "4", "`gt: 5` and `lt: 4` leave no value"),
    ("contract: {x: {min_length: 3, max_length: 1}} #!", "1", "`min_length: 3` and `max_length: 1` leave no value"),
    ("contract: {x: {isin: [a, b], notin: [b, a, c]}} #!", "isin", "none of [a, b] keeps the other rules"),
    ("contract: {x: {isin: [a], min_length: 2}} #!", "isin", "none of [a] keeps the other rules"),
    ("contract: {x: {ge: .nan}} #!", ".nan", "nothing is more or less than NaN"),
    ("contract: {x: {lt: .NaN}} #!", ".NaN", "nothing is more or less than NaN"),
    ("contract: {x: {nullable: maybe}} #!", "maybe", "write true or false"),
    ("contract: {x: {unique: [no]}} #!", "unique", "write true or false"),
    ("contract: {x: {max_length: 99999999999999999999}} #!", "99999999999999999999", "write 2147483647 or less"),
    ("contract: {x: {matches: '(?=a)b'}} #!", "(?=a)b", "Arrow's RE2 applies it, which has no `(?=`"),
    ("contract: {x: {matches: '(?<!a)b'}} #!", "(?<!a)b", "Arrow's RE2 applies it, which has no `(?<!`"),
    (r"contract: {x: {matches: '(a)\1'}} #!", r"(a)\1", r"which has no `\1`"),
    (r"contract: {x: {matches: 'a\Z'}} #!", r"a\Z", r"which has no `\Z`"),
    ("contract: {x: {not_null: true}} #!", "not_null", "did you mean `nullable`?"),
    ("contract: {x: {min: 1}} #!", "min", "did you mean `ge`?"),
    ("contract: {x: {regex: a}} #!", "regex", "did you mean `matches`?"),
    ("cursor: {column: x, type: TIMESTAMP} #!", "TIMESTAMP", "did you mean `timestamp`?"),
    ("start: " + "9" * 50 + " #!\n" + NUMBERED, "9" * 50, "has more digits than the 39 that a cursor holds"),
    ("contract: [] #!", "contract", "write keys and values here"),
    ("columns: {} #!", "columns", "write at least one key with its value, or remove `columns`"),
    ("freshness: {} #!\n" + CURSOR, "freshness", "write at least one key with its value"),
    ("columns: {exclude: ['*']} #!", "*", "columns are named one by one"),
    ("primary_key: [_sync_at] #!\n" + CURSOR, "_sync_at", "columns that begin with `_sync_`"),
    ("partitions: {size: 100000000000000000000000000} #!\n" + NUMBERED, "1" + 26 * "0", "write 1000000000000000000 or"),
    ("partitions: {size: 1, every: day} #!\n" + CURSOR, "every", "`every` does not go with the other key here"),
    ("freshness: {warn: 0s} #!\n" + CURSOR, "0s", "no row lands in no time"),
    ("freshness: {warn: 1h, fail: 0m} #!\n" + CURSOR, "0m", "no row lands in no time"),
    ("refresh_every: 999999999999d #!", "999999999999d", "at most a hundred years, 36525d"),
    ("refresh_every: " + "9" * 60 + "d #!", "9" * 60 + "d", "at most a hundred years, 36525d"),
    ("lookback: 40000d #!\n" + CURSOR, "40000d", "at most a hundred years, 36525d"),
    ("lookback: 9999999999999999999 #!\n" + NUMBERED, "9" * 19, "a whole number of at most 18 digits"),
    ("schema_changes: [evolve] #!", "schema_changes", "write a single value here; choose one of: evolve, widen"),
    ("strategy: {a: b} #!\n" + CURSOR, "strategy", "write a single value here; choose one of: append"),
    ("reconciliation: {max_rows: 5} #!", "5", "`max_rows` belongs to `repair: auto`"),
    (
        "cursor: {type: xmin}\nstrategy: upsert\nstart: 2024-01-01 #!",
        "2024-01-01",
        "the number of a transaction is no time, so that `start` is a whole number here; write one, or remove `start`",
    ),
]

IN_SOURCES = [
    (
        "exclude: ['*']",
        "exclude",
        "this leaves out every table that is not listed; write `unlisted: ignore` in its place",
    ),
    ("exclude: [audit.a, '*.*']", "exclude", "write `unlisted: ignore` in its place"),
    ("exclude: ['public.*']", "exclude", "write `unlisted: ignore` in its place"),
    ("schemas: [a, b]\nexclude: ['b.*', 'a.*']", "exclude", "write `unlisted: ignore` in its place"),
    ("refresh_every: 999999999999d", "999999999999d", "at most a hundred years, 36525d"),
    ("defaults: {columns: {exclude: ['pass*']}}", "pass*", "columns are named one by one"),
    ("defaults: {reconciliation: {max_rows: 5}}", "5", "`max_rows` belongs to `repair: auto`"),
    ("defaults: {freshness: {fail: 0s}}", "0s", "no row lands in no time"),
    (
        "backfill: {connections: 5}",
        "5",
        "at most 4 connections, by `parallel`; write 4 or less, or raise `parallel: {connections: …}`",
    ),
    (
        "parallel: {connections: 2}\nbackfill: {connections: 3}",
        "3",
        "at most 2 connections, by `parallel`; write 2 or less",
    ),
    ("options: {}", "options", "write at least one key with its value"),
    ("backfill: {windows: 99999999999999999999}", "99999999999999999999", "write 25000 or less"),
    ("password: {env: A, file: b}", "password: …", "does not go with the other key here; remove one of the two"),
    ("schemas: [[a]]", "", "write a single value here"),
]


@pytest.mark.parametrize(("snippet", "text", "cure"), IN_TABLES)
def test_it_is_refused_in_a_table(tmp_path: Path, snippet: str, text: str, cure: str) -> None:
    problem = only_problem(tmp_path, in_table(f"table: public.a\n{snippet}"))
    assert problem.text == text
    assert cure in problem.cure


@pytest.mark.parametrize(("snippet", "text", "cure"), IN_SOURCES)
def test_it_is_refused_in_a_source(tmp_path: Path, snippet: str, text: str, cure: str) -> None:
    problem = only_problem(tmp_path, in_source(f"{snippet} #!"))
    assert problem.text == text
    assert cure in problem.cure


def test_what_is_wrong_inside_a_list_makes_no_second_mistake_of_the_list(tmp_path: Path) -> None:
    found = problems(tmp_path, in_table("table: public.a\ncontract: {x: {isin: [null, [1]]}}"))
    assert [(each.text, each.cure) for each in found] == [
        ("null", "write a single value here"),
        ("", "write a single value here"),
    ]


@pytest.mark.parametrize(
    "rules",
    [
        "{ge: 10, lt: 9}",  # as texts, 10 comes before 9
        "{ge: 3, le: 3}",
        "{isin: [1, 2], ge: 2}",
        "{min_length: 3, max_length: 3}",
        "{isin: [a, bb], min_length: 2}",
        "{gt: 1, lt: 2}",  # a fraction
        r"{matches: '^[a\\]+\.(?:b|c)?[^(?=](\(\?=\d)$'}",
    ],
)
def test_what_some_value_can_pass_is_accepted(tmp_path: Path, rules: str) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(in_table(f"table: public.a\ncontract: {{x: {rules}}}"), encoding="utf-8")
    assert load(file, now=NOW).sources[0].tables[0].contract is not None


def test_an_exclude_that_leaves_a_schema_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(in_source("schemas: [a, b]\nexclude: ['a.*']"), encoding="utf-8")
    assert load(file, now=NOW).sources[0].exclude == ("a.*",)
