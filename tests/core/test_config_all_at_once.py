"""Are all mistakes told at once, each of them once, where it was made, and in a sentence?"""

import itertools
import re
from pathlib import Path

import pytest

from incremental_assets.core.config import load as config
from incremental_assets.core.errors import ConfigurationError
from tests.core.mistakes import FILE, NOW, SOURCE, in_source, in_table, only_problem, problems
from tests.core.test_config_source_mistakes import SOURCE_MISTAKES
from tests.core.test_config_table_mistakes import TABLE_MISTAKES


def test_five_mistakes_of_five_kinds_are_five_lines(tmp_path: Path) -> None:
    text = (
        (FILE + SOURCE + "    fetch_size: many\n    tables:\n")
        .replace("lake: ./lake", "lake: ftp://x")
        .replace("    user: reader\n", "")
    )
    text += '      - "public.a:x:timestmp"\n'
    text += "      - table: public.b\n        strategy: upsert\n        freshness: {warn: 1d, fail: 1h}\n"
    text += '      - "public.c:x:date"\n      - "public.c:y:date"\n'
    found = problems(tmp_path, text)
    assert [(problem.line, problem.text) for problem in found] == [
        (1, "ftp://x"),
        (4, "shop"),
        (8, "many"),
        (10, "public.a:x:timestmp"),
        (12, "upsert"),
        (13, "freshness"),
        (15, "public.c:y:date"),
    ]


def test_the_error_reads_as_one_line_per_mistake(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(in_source("fetch_size: many\nport: big"))
    with pytest.raises(ConfigurationError) as caught:
        config.load(tmp_path / "sources.yaml", now=NOW)
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/sources.yaml:9: 'many': write a whole number",
        f"{tmp_path}/sources.yaml:10: 'big': write a whole number",
    ]
    assert caught.value.exit_code == 2


def test_a_wrong_cursor_is_not_also_called_missing(tmp_path: Path) -> None:
    found = only_problem(
        tmp_path, in_table("table: public.a\nstrategy: upsert\ncursor: {column: x, type: timestmp} #!\nlookback: 15m")
    )
    assert found.text == "timestmp"


def test_a_bad_value_hides_no_other_mistake_of_its_table_or_source(tmp_path: Path) -> None:
    text = in_table("table: public.a\nfuture: later\nlookback: 15\ncursor: {column: x, type: timestamp, zone: UTC}")
    assert [problem.text for problem in problems(tmp_path, text)] == ["later", "15", "UTC"]
    text = in_source("fetch_size: many\ntls: none")
    assert [problem.text for problem in problems(tmp_path, text)] == ["many", "none"]


def test_an_excluded_table_is_not_held_against_the_defaults(tmp_path: Path) -> None:
    text = in_source('defaults: {lookback: 15m}\ntables: ["public.b:id:integer:e"]')
    (tmp_path / "sources.yaml").write_text(text)
    assert config.load(tmp_path / "sources.yaml", now=NOW).source("shop").tables == ()


def test_a_default_that_does_not_fit_is_reported_at_the_table_it_does_not_fit(tmp_path: Path) -> None:
    text = in_source('defaults: {lookback: 15m}\ntables:\n  - "public.a:x:timestamp"\n  - "public.b:id:integer" #!')
    assert "the source's default `lookback: 15m` does not fit here" in only_problem(tmp_path, text).cure


def test_every_cure_is_a_sentence_and_names_no_library(tmp_path: Path) -> None:
    snippets = itertools.chain(
        (in_table(snippet) for snippet, *_ in TABLE_MISTAKES), (in_source(key) for key, *_ in SOURCE_MISTAKES[1:])
    )
    for snippet in snippets:
        for problem in problems(tmp_path, snippet):
            assert not re.search(r"pydantic|Input should|Value error|validation|str_|\bnull\b", problem.cure), problem


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    assert len(only_problem(tmp_path, in_source(f"unlisted: {'x' * 500} #!")).text) == 80
