"""Who writes the commits of a history."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.delta.history import by_tasks


@pytest.fixture(params=["tasks", pytest.param("spark", marks=pytest.mark.acceptance)])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A task of ours wherever it may be, or Spark alone."""
    if request.param == "spark":
        monkeypatch.setattr(by_tasks, "followed", lambda *_: None)
    return str(request.param)
