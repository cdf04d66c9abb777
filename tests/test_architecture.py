"""What the pages and docstrings say of the structure is what the code has."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "incremental_assets"
OURS = ("incremental_assets",)
DOTTED = re.compile(r"`((?:core|adapters|resources)(?:\.\w+)+)`")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
@pytest.mark.parametrize("package", ["core", "adapters"])
def test_a_page_draws_the_layers_that_import_linter_holds(page: str, package: str) -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    held = next(each for each in contracts if each.get("containers") == [f"incremental_assets.{package}"])

    drawn = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert " > ".join(held["layers"]) in drawn


def test_a_name_in_a_docstring_leads_to_where_it_is() -> None:
    files = [path for folder in ("incremental_assets", "resources", "tests") for path in (ROOT / folder).rglob("*.py")]
    named = {(path.relative_to(ROOT).as_posix(), name) for path in files for name in DOTTED.findall(path.read_text())}

    assert len(named) > 20
    assert sorted((path, name) for path, name in named if not is_there(name)) == []


def test_what_tests_and_tools_import_is_there() -> None:
    """Many import it only as they run, and not all of them run with `make test`."""
    imported = {
        (path.relative_to(ROOT).as_posix(), node.module, alias.name)
        for folder in ("tests", "bench", "tools")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS
        for alias in node.names
    }

    assert len(imported) > 1_000
    assert sorted(each for each in imported if not can_be_imported(*each[1:])) == []


def test_an_import_of_what_is_gone_is_noticed() -> None:
    assert can_be_imported("incremental_assets.core", "ports")
    assert can_be_imported("incremental_assets.core.ports", "Lake")
    assert not can_be_imported("incremental_assets.core.ports", "Ocean")
    assert not can_be_imported("incremental_assets.core.oceans", "Lake")


def test_a_module_that_is_gone_is_noticed() -> None:
    assert is_there("core.landing.first_load")
    assert is_there("core.ports.Lake")
    assert not is_there("core.first_load")
    assert not is_there("core.ports.Ocean")


def can_be_imported(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False


def is_there(name: str) -> bool:
    """Whether it is a module, or a name that the module before the last dot defines or offers."""
    *before, last = name.split(".")
    place = PACKAGE.joinpath(*before)
    if (place / last).is_dir() or (place / f"{last}.py").is_file():
        return True
    module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return module.is_file() and re.search(rf"\b{last}\b", module.read_text(encoding="utf-8")) is not None
