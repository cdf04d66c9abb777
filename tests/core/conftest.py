"""What the pure tests begin with."""

import pytest

from incremental_assets.core.differences import differing as bisecting


@pytest.fixture(params=[5_000, 0], ids=["windows first", "keys at once"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small table is counted by its windows, a large one by its keys; both have the same result."""
    monkeypatch.setattr(bisecting, "FEW", request.param)
