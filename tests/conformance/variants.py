"""Known-bad variants of a capture: what each leaves out, and the scenario that notices it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from incremental_assets.core.errors import IncrementalAssetsError


@dataclass(frozen=True)
class Variant:
    """What it does to a copy, and by which scenario it is found; `play` takes what that scenario asks for."""

    harm: str
    change: Callable[[pytest.MonkeyPatch], object]
    by: str
    play: Callable[..., object]


def assert_killed(
    name: str, variant: Variant, patch: pytest.MonkeyPatch, record_property: Callable[[str, object], None], *asked: Any
) -> None:
    """The scenario does not hold on it; the report is told of it."""
    begun = time.monotonic()
    variant.change(patch)
    with pytest.raises((AssertionError, IncrementalAssetsError)):
        variant.play(*asked)
    for key, value in (("mutant", name), ("harm", variant.harm), ("killer", f"the scenario: {variant.by}")):
        record_property(key, value)
    record_property("seconds", time.monotonic() - begun)
