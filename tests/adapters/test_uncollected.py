"""The collector of cycles stands still for a block, and no longer."""

from __future__ import annotations

import gc

import pytest

from incremental_assets.adapters.uncollected import uncollected


def test_it_stands_still_until_the_last_block_ends() -> None:
    first, second = uncollected(), uncollected()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_block_that_fails_ends_as_well() -> None:
    with pytest.raises(ValueError, match="poison"), uncollected():
        raise ValueError("poison")
    assert gc.isenabled()


def test_one_that_was_off_before_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
