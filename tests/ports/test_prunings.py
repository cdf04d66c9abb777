"""What each table was last pruned of is kept in the checkpoint database, in place of what was before."""

from __future__ import annotations

from datetime import timedelta

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.model.retention import Pruned
from tests.ports.stories import DOTTED, ORDERS


def test_the_last_pruning_of_each_table_is_known_with_its_time(checkpoints: SqlCheckpoints) -> None:
    assert checkpoints.prunings() == {}
    first, other = Pruned(ORDERS, 3, 3_000_000_000, 5, 6, 1.5, ("a part: it is strange",)), Pruned(DOTTED)
    checkpoints.record_pruning(first)
    checkpoints.record_pruning(other)
    at, found = checkpoints.prunings()[ORDERS]
    assert (found.versions, found.quarantined) == (5, 6)
    assert (found.files, found.bytes, found.left) == (3, 3_000_000_000, ("a part: it is strange",))
    checkpoints.record_pruning(Pruned(ORDERS, 1, 10))
    later, found = checkpoints.prunings()[ORDERS]
    assert (found.files, found.bytes, found.left) == (1, 10, ())
    assert timedelta() <= later - at < timedelta(hours=1)
    assert set(checkpoints.prunings()) == {ORDERS, DOTTED}
