"""What the pages and docstrings say of the structure is what the code has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "incremental_assets"
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


def test_a_module_that_is_gone_is_noticed() -> None:
    assert is_there("core.syncing.first_load")
    assert is_there("core.ports.Lake")
    assert not is_there("core.first_load")
    assert not is_there("core.ports.Ocean")


def is_there(name: str) -> bool:
    """Whether it is a module, or a name that the module before the last dot defines or offers."""
    *before, last = name.split(".")
    place = (ROOT if before[0] == "resources" else PACKAGE).joinpath(*before)
    if (place / last).is_dir() or (place / f"{last}.py").is_file():
        return True
    module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return module.is_file() and re.search(rf"\b{last}\b", module.read_text(encoding="utf-8")) is not None
