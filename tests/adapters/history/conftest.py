"""Who writes the commits of a history."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.delta.history import by_tasks
from tests.left_to_spark import left_to_spark


@pytest.fixture(params=["tasks", pytest.param("spark", marks=pytest.mark.acceptance)])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A task of ours wherever it may be, or Spark alone."""
    if request.param == "spark":
        monkeypatch.setattr(by_tasks, "follow", left_to_spark)
    return str(request.param)
