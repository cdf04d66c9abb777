"""A role's own limits of some milliseconds are set aside before anything is looked up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from incremental_assets.adapters.databases.postgresql.connect import import_snapshot, session_init
from incremental_assets.adapters.databases.postgresql.pinned import Limits, deadlines

OURS = "SET LOCAL statement_timeout = 60000"
LASTING = "SET LOCAL transaction_timeout = 0"
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(("version", "told"), [(0, (OURS,)), (160004, (OURS,)), (170000, (LASTING, OURS))])
def test_a_server_that_may_end_a_transaction_by_its_age_is_told_first(version: int, told: tuple[str, ...]) -> None:
    assert deadlines(MINUTE, version) == told


def test_whoever_knows_the_server_says_so_before_the_first_select() -> None:
    known = Limits(MINUTE, version=180000)
    for begun in (import_snapshot("00000003-1", known), session_init(None, known)):
        assert begun.index(LASTING) < begun.index("SELECT")
    assert LASTING not in session_init(None, Limits(MINUTE))
