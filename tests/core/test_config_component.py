"""A Dagster component's defs.yaml: the same configuration one level down, and every place is one of the file."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from incremental_assets.core.config.json_schema import inlined, schema
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError, Problem

COMPONENT = """\
# a comment, and then the component

type: incremental_assets.IncrementalSource
attributes:
  lake: ./lake
  checkpoints: sqlite:///checkpoints.db
  sources:
    shop:
      dialect: postgresql
      host: localhost
      port: 5432
      database: shop
      user: reader
      tables:
        - "public.orders:updated_at:timestamp!upsert"
requirements: {env: [SHOP_PASSWORD]}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "defs.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def mistakes(folder: Path, text: str, number: int = 0) -> list[Problem]:
    with pytest.raises(ConfigurationError) as found:
        load(written(folder, text), number=number)
    return list(found.value.problems)


def test_the_attributes_are_the_configuration_and_paths_are_relative_to_the_files_folder(tmp_path: Path) -> None:
    configuration = load(written(tmp_path, COMPONENT))
    (source,) = configuration.sources
    assert (configuration.lake, configuration.checkpoints) == (
        str(tmp_path / "lake"),
        f"sqlite:///{tmp_path / 'checkpoints.db'}",
    )
    assert (configuration.path, source.line, source.tables[0].line) == (tmp_path / "defs.yaml", 8, 15)


def test_every_mistake_is_at_its_line_of_the_file(tmp_path: Path) -> None:
    text = COMPONENT.replace("postgresql", "postgres").replace("port:", "prot:").replace("  lake: ./lake\n", "")
    assert [(problem.line, problem.text) for problem in mistakes(tmp_path, text)] == [
        (4, ""),  # `lake` is missing, and this is where it should be
        (8, "postgres"),
        (10, "prot"),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# nothing yet\ntype: incremental_assets.IncrementalSource\n", 2),
        ("type: incremental_assets.IncrementalSource\n\nattributes:\n", 3),
        ("type: incremental_assets.IncrementalSource\nattributes: [a, b]\n", 2),
    ],
)
def test_a_component_without_attributes_says_what_to_write_there(tmp_path: Path, text: str, line: int) -> None:
    (problem,) = mistakes(tmp_path, text)
    assert problem.line == line
    assert problem.cure.startswith("write the keys lake, checkpoints and sources")


def test_of_several_components_in_one_file_each_has_its_own_lines(tmp_path: Path) -> None:
    text = f"{COMPONENT}---\n{COMPONENT.replace('shop:', 'web:')}"
    path = written(tmp_path, text)
    first, second = load(path), load(path, number=1)
    assert [(each.sources[0].name, each.sources[0].line) for each in (first, second)] == [("shop", 8), ("web", 25)]
    assert [problem.line for problem in mistakes(tmp_path, text.replace("user: reader", "usr: reader"), 1)] == [30]


def test_what_dagster_would_fill_in_is_refused_and_a_secret_is_not_shown(tmp_path: Path) -> None:
    text = COMPONENT.replace("database: shop", 'database: "{{ env.DB }}"').replace(
        "user: reader", 'user: reader\n      password: "{{ env.PW }}hunter2"'
    )
    found = mistakes(tmp_path, text)
    assert {(problem.line, problem.text) for problem in found} == {(12, "{{ env.DB }}"), (14, "password: …")}
    assert any("write {env: NAME}" in problem.cure for problem in found)
    assert "hunter2" not in str(found)


def test_the_schema_without_references_says_the_same() -> None:
    whole = schema()
    definitions = whole["$defs"]

    def same(node: object, other: object) -> bool:
        if isinstance(node, dict) and isinstance(other, dict):
            if "$ref" in node:
                node = definitions[node["$ref"].rpartition("/")[2]] | {k: v for k, v in node.items() if k != "$ref"}
            return set(node) == set(other) and all(same(node[key], other[key]) for key in node)
        if isinstance(node, list) and isinstance(other, list):
            return len(node) == len(other) and all(map(same, node, other))
        return node == other

    part = inlined()
    assert "$ref" not in str(part)
    assert same({key: value for key, value in whole.items() if key not in ("$defs", "$schema")}, part)
