"""Whether a scenario notices each known-bad variant is played by `make conformance`; that each of them still changes what is there is seen here."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import (
    test_binlog_variants,
    test_file_variants,
    test_log_variants,
    test_store_variants,
    test_topic_variants,
)
from tests.conformance.variants import Variant

VARIANTS = [
    pytest.param(variant, id=name)
    for module in (
        test_binlog_variants,
        test_file_variants,
        test_log_variants,
        test_store_variants,
        test_topic_variants,
    )
    for name, variant in module.VARIANTS.items()
]


class Noting:
    """Knows of each change whether what is there now is another thing."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.changed: list[bool] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._patch, name)

    def setattr(self, target: Any, name: str, *value: Any, **how: Any) -> None:
        before = getattr(target, name, None)
        self._patch.setattr(target, name, *value, **how)
        self.changed.append(getattr(target, name) is not before)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_known_bad_variant_still_finds_what_it_changes(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    noting: Any = Noting(monkeypatch)
    variant.change(noting)
    assert noting.changed
    assert all(noting.changed)
