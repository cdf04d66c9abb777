"""Which Python the tasks of a session begin."""

from __future__ import annotations

import os
import sys

import pytest

from incremental_assets.adapters.spark import session
from incremental_assets.adapters.spark.session import SparkSettings, open_session


@pytest.fixture(autouse=True)
def unopened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_open", lambda *_, **__: None)
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "/nobody's/python")


def test_the_machines_of_a_cluster_may_have_theirs_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "./environment/bin/python")
    open_session(SparkSettings(master="spark://host:7077"))
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable


def test_unless_the_environment_says_so_it_is_that_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    open_session(SparkSettings(master="spark://host:7077"))
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


@pytest.mark.parametrize(
    "settings", [SparkSettings(), SparkSettings(master="local[2]"), SparkSettings(remote="sc://host")]
)
def test_on_this_machine_it_always_is(settings: SparkSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    open_session(settings)
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
