"""Finds which transactions a snapshot shows, and which rows a later snapshot adds."""

from __future__ import annotations

from incremental_assets.adapters.databases.postgresql.sql import ALIAS
from incremental_assets.adapters.databases.postgresql.transaction_number import CIRCLE


def first_unread(before: str, now: str) -> int | None:
    """The smallest transaction that `now` may show and `before` did not; None where rows do not tell any more.

    A row that `now` shows and that a smaller number has written, `before` showed as well. Its transaction was over then: or it was under way in
    both, and shows nothing yet. That holds for subtransactions, too: their numbers are larger than that of the transaction which they belong to.
    """
    (_, end, open_then), (_, latest, open_now) = _parts(before), _parts(now)
    first = min({end} | (open_then - open_now))
    # Half of the circle is the past. A number that has gone back is another server's.
    return first if end <= latest and latest - first < CIRCLE // 2 else None


def written_since(first: int) -> str:
    """The condition that a row was written by a transaction from `first` on. Frozen rows keep the number of theirs."""
    return f"(CAST(CAST({ALIAS}.xmin AS text) AS bigint) - {first % CIRCLE} + {CIRCLE}) % {CIRCLE} < {CIRCLE // 2}"


def _parts(snapshot: str) -> tuple[int, int, set[int]]:
    """`xmin:xmax:xip,…`: all below the first are over, none from the second on had begun, and these were under way."""
    first, end, under_way = snapshot.split(":")
    return int(first), int(end), {int(each) for each in under_way.split(",") if each}
