"""Known-bad variants of a lake in a store: each believes what the store says, and a scenario notices it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from incremental_assets.adapters.lake_store.objects import ObjectStore
from tests.adapters.lake_store.bucket import Relay
from tests.adapters.lake_store.shop_in_store import StoreStand
from tests.adapters.lake_store.test_mutants import believing
from tests.conformance import test_store_answers as answers
from tests.conformance.variants import Variant, assert_killed

pytestmark = pytest.mark.acceptance

VARIANTS: dict[str, Variant] = {
    "who meets its own commit was second": Variant(
        "removes the files of a version that has landed",
        lambda patch: patch.setattr(ObjectStore, "_put_if_absent", believing),
        "what the puts of commits are answered",
        lambda stored, relay: answers.test_whatever_a_commit_is_answered(stored, relay, ["500 after"]),
    ),
    "a store is believed to mind conditions": Variant(
        "lets two writers commit one version",
        lambda patch: patch.setattr(ObjectStore, "_check_conditional", lambda *_: None),
        "a store that lets a second writer have its way",
        answers.test_a_store_that_minds_no_condition,
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_known_bad_variant_is_killed(
    name: str,
    stored: StoreStand,
    relay: Relay,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    assert_killed(name, VARIANTS[name], monkeypatch, record_property, stored, relay)
