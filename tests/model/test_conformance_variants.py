"""Whether a scenario notices each known-bad variant is played by `make conformance`; that each of them still changes what is there is seen here."""

from __future__ import annotations

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


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_known_bad_variant_still_finds_what_it_changes(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    variant.change(monkeypatch)
