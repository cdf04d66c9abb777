"""What is told where there is no file, no YAML, or YAML that is no configuration?"""

from itertools import pairwise
from pathlib import Path

import pytest

from incremental_assets.core.config import load as config
from incremental_assets.core.config.database_settings import database_of
from incremental_assets.core.errors import ConfigurationError
from tests.core.mistakes import FILE, NOW, SOURCE, in_source, problems


def test_a_missing_file_is_one_problem_with_its_cure(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere.yaml:1: .*there is no such file; name it with --config"):
        config.load(tmp_path / "nowhere.yaml")


def test_a_folder_and_a_picture_are_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        config.load(tmp_path)
    (tmp_path / "sources.yaml").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        config.load(tmp_path / "sources.yaml")


@pytest.mark.parametrize(
    ("text", "line", "cure"),
    [
        ("", 1, "write the keys lake, checkpoints and sources"),
        ("- a\n- b\n", 1, "write the keys lake, checkpoints and sources"),
        ("lake: [a\nsources: b\n", 2, "this is not YAML"),
        ("sources: *.orders\n", 1, "put the value into quotes, as it begins with `*`"),
        ("lake: a\nsources: {source}/{table}\n", 2, "put the value into quotes, as it begins with `{`"),
        ("lake: a\n\tcheckpoints: b\n", 2, "this is not YAML"),
        ("lake: a\n---\nlake: b\n", 3, "a second document begins here"),
        ("sources: a\nlake: \x07\n", 2, "the character U+0007 in column 7"),
        ("lake: a\n\tcheckpoints: b\n", 2, "a tab, where YAML indents by spaces"),
        (
            "lake: a\nsources:\n  shop:\n    user: b\n   host: c\n",
            5,
            "the line begins in column 4, and the one before it in column 5",
        ),
        ("sources:\n  - a\n - b\n", 3, "the line begins in column 2, and the one before it in column 3"),
        ("lake: @home\n", 1, "'@' that cannot start any token, in column 7"),
    ],
)
def test_what_is_not_yaml_is_placed_too(tmp_path: Path, text: str, line: int, cure: str) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1
    assert found[0].line == line
    assert cure in found[0].cure


def test_a_file_without_sources_says_how_one_looks(tmp_path: Path) -> None:
    for text in ("lake: a\ncheckpoints: sqlite:///c\n", "lake: a\ncheckpoints: sqlite:///c\nsources: {}\n"):
        assert "write at least one source" in problems(tmp_path, text)[0].cure


def test_an_alias_within_itself_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, FILE + SOURCE + "    schemas: &loop [*loop]\n")
    assert "is inside what it refers to" in found[0].cure


def test_aliases_that_stand_for_a_billion_values_are_refused_before_they_are_written_out(tmp_path: Path) -> None:
    layers = [f"{name}: &{name} [{', '.join([f'*{inner}'] * 9)}]" for inner, name in pairwise("abcdefghij")]
    found = problems(tmp_path, "\n".join(["a: &a [x, x, x]", *layers, FILE + SOURCE]))
    assert [(each.line, each.text) for each in found] == [(7, "g")]
    assert "stand for more than a million values" in found[0].cure


def test_an_anchor_may_be_used_again(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(in_source("options: {connect_timeout: &short 5s, socket_timeout: *short}"))
    options = database_of(config.load(tmp_path / "sources.yaml", now=NOW).source("shop")).options
    assert options.connect_timeout == options.socket_timeout


@pytest.mark.parametrize("deep", ["[" * 3000 + "]" * 3000, "{a: " * 3000 + "b" + "}" * 3000, "[" * 3000])
def test_what_stands_too_deep_is_one_mistake_in_its_line(tmp_path: Path, deep: str) -> None:
    (problem,) = problems(tmp_path, in_source(f"every: {deep}"))
    assert (problem.line, problem.text) == (9, "")
    assert problem.cure == "this is nested too deeply; write it with fewer brackets or indents"
