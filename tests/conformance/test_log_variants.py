"""Known-bad variants of the capture by log: each leaves one thought out, and a scenario notices it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from incremental_assets.adapters.logs import completing
from incremental_assets.adapters.logs.joining import Snapshot
from incremental_assets.adapters.logs.postgresql import fitness, reading
from tests.adapters.logs.shelved import Open
from tests.conformance import test_log_rows as rows
from tests.conformance import test_log_server as server
from tests.conformance import test_log_transactions as transactions
from tests.conformance.variants import Variant, assert_killed

pytestmark = pytest.mark.acceptance

Patch = pytest.MonkeyPatch


VARIANTS: dict[str, Variant] = {
    "a snapshot shows all that is younger than it": Variant(
        "drops what was open while the table was loaded",
        lambda patch: patch.setattr(Snapshot, "shows", lambda _, xids: np.ones(len(xids), bool)),
        "a transaction that begins while the table is loaded",
        transactions.test_a_transaction_that_begins_while_the_table_is_loaded,
    ),
    "what was decoded is visible": Variant(
        "loses a commit that waits for a standby while the table is loaded",
        lambda patch: patch.setattr(Snapshot, "hides", lambda *_: []),
        "a commit that waits for a standby",
        transactions.test_a_commit_that_waits_for_a_standby,
    ),
    "what is older than the publication is in the log": Variant(
        "loses what a transaction wrote before its table was published",
        lambda patch: patch.setattr(Snapshot, "is_after", lambda *_: True),
        "a transaction that is older than the publication",
        transactions.test_a_transaction_that_is_older_than_the_publication,
    ),
    "a TRUNCATE in the log is passed over": Variant(
        "keeps rows that are gone",
        lambda patch: patch.setattr(completing, "_emptied", lambda _, __, schema, ___: schema.empty_table()),
        "a table that is truncated",
        lambda shop, _: rows.test_a_table_that_is_truncated(shop),
    ),
    "a slot is read from wherever it stands": Variant(
        "misses what another program has taken from it",
        lambda patch: patch.setattr(fitness, "_check_slot", lambda *_: None),
        "a slot that has lost something",
        lambda shop, _: server.test_a_slot_that_has_lost_something(shop, "advanced"),
    ),
    "a table that is in the publication has been in it": Variant(
        "misses what changed while it was not",
        lambda patch: patch.setattr(reading, "gaps", lambda *_: {}),
        "a publication that was without the table for a while",
        lambda shop, _: server.test_a_publication_that_was_without_the_table_for_a_while(shop, whole=False),
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_known_bad_variant_is_killed(
    name: str, open_shop: Open, monkeypatch: Patch, record_property: Callable[[str, object], None]
) -> None:
    assert_killed(name, VARIANTS[name], monkeypatch, record_property, open_shop, monkeypatch)
