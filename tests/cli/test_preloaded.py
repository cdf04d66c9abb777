"""What a fork shares with the server that made it."""

from __future__ import annotations

from importlib.util import find_spec

from incremental_assets.cli.preloaded import MODULES


def test_each_module_of_ours_that_is_imported_beforehand_is_there() -> None:
    """One that has moved would be left out without a word, and each command import it for itself."""
    ours = [name for name in MODULES if name.startswith(("incremental_assets.", "resources."))]
    assert len(ours) > 10
    assert [name for name in ours if find_spec(name) is None] == []
