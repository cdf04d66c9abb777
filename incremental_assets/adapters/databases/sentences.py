"""Errors of a driver in our own words, where databases say the same."""

from __future__ import annotations

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.words import age

ALTERED = (
    "the table was altered in the source while this sync was about to read it ({}), so nothing was written; "
    "run the sync again, it reads the catalogue again"
)
BUSY = "another session holds a lock on it"
NO_COLUMN = "a column went away while the table was asked ({}); run the sync again, it reads the catalogue again"


def place_of(address: Address) -> str:
    """The user, host, port and database of an address, as text."""
    return f"{address.user}@{address.host}:{address.port}/{address.database}"


def unreachable(words: str, address: Address) -> str:
    """Why there is no line to the server, with the cure."""
    lower = words.lower()
    if "name or service not known" in lower or "resolution" in lower:
        return f"the host {address.host!r} is not known; check `host`"
    if "timed out" in lower or "timeout" in lower:
        waited = age(address.statement_timeout.total_seconds())
        return f"there was no answer in time ({words}); check `host` and `port`, or raise `options: {{statement_timeout: …}}` above {waited}"
    return f"the database does not answer ({words}); check `host` and `port`, and that it runs and may be reached from here"
