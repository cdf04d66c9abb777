"""Who writes the commits of a history."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.delta.history import direct


@pytest.fixture(params=["direct", pytest.param("ordinary", marks=pytest.mark.acceptance)])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A task of ours wherever it may be, or Spark alone."""
    if request.param == "ordinary":
        monkeypatch.setattr(direct, "followed", lambda *_: None)
    return str(request.param)
