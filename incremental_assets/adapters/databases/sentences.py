"""Errors of a driver in our own words, where databases say the same."""

from __future__ import annotations

from typing import Literal

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.words import age

ALTERED = (
    "the table was altered in the source while this sync was about to read it ({}), so nothing was written; "
    "run the sync again, it reads the catalogue again"
)
ANOTHER_KIND = (
    "what answers there is no server of this dialect, or is too busy to greet ({}); check `dialect`, `host` and `port`"
)
BUSY = "another session holds a lock on it"
FULL = (
    "the server has no connection left for us ({}), and was asked again for a while; "
    "raise its limit or that of the user, or lower `parallel: {{connections: …}}` below what it has"
)
LOST = "the connection was lost ({}); the next sync goes on from what has landed"
COLUMN_NOT_UTF8 = "the name of a column is not UTF-8"
NAME_NOT_UTF8 = "its name is not UTF-8"
NO_COLUMN = "a column disappeared while the table was queried ({}); run the sync again, it reads the catalogue again"
LOCKED = (
    "another session holds a lock on it (ALTER TABLE, TRUNCATE, VACUUM FULL, CREATE TABLE … SELECT or the like), "
    "so that it could not be described; the next sync asks again"
)
REFUSED = "the source refused the query: {}; correct in the source what it names (of a view, its query), else try again"
TURNED_AWAY = (
    "the server answers and lets this user in to no session ({}); correct there what it names: whether this user may log in and use the database, "
    "and what the server runs or loads when it does"
)
UNDESCRIBED = (
    "the source does not tell what columns it has: {}; correct there what it names (of a view, its query), or leave it out: "
    "remove it from `tables`, or add it to `exclude`"
)

_UNKNOWN_HOST = (
    "name or service not known",
    "name resolution",
    "could not translate host name",
    "failed to resolve host",
)


def place_of(address: Address) -> str:
    """The user, host, port and database of an address, as text."""
    return f"{address.user}@{address.host}:{address.port}/{address.database}"


def unreachable(words: str, address: Address) -> str:
    """Why a server does not answer a query, with the cure."""
    return _unreachable(words, address, "statement_timeout")


def unconnected(words: str, address: Address) -> str:
    """Why there is no connection to a server, with the cure."""
    return _unreachable(words, address, "connect_timeout")


def unknown_host(words: str, address: Address) -> str:
    """The sentence for a name that no machine has; empty where the words say something else."""
    is_unknown = any(each in words.lower() for each in _UNKNOWN_HOST)
    return f"the host {address.host!r} is not known; check `host`" if is_unknown else ""


def unanswered(words: str) -> str:
    """The sentence for a server that does not take the connection."""
    return f"the database does not answer ({words}); check `host` and `port`, and that it runs and may be reached from here"


def untrusted(words: str, address: Address) -> str:
    """The sentence for a line that cannot be secured as `tls` asks, by a driver that knows the machine's authorities."""
    cure = (
        "renew the server's certificate"
        if "has expired" in words
        else "switch TLS on in the server, and name its authority in SSL_CERT_FILE; on a network that nobody else can read, `tls: disable` does without"
    )
    return f"no connection under `tls: {address.tls}` ({words}); {cure}"


def no_database(address: Address) -> str:
    """The sentence for a server that does not tell what is not there from what may not be used."""
    return f"there is no database {address.database!r} on this server, or {address.user} may not use it; check `database`, `doctor --sql` prints the grants"


def cancelled(words: str, address: Address) -> str:
    """The sentence for a query that its deadline has ended."""
    return (
        f"the source cancelled the query after {age(address.statement_timeout.total_seconds())}, or earlier by a limit of this user's or by hand ({words}); "
        "add an index on the cursor, `doctor --sql` prints it, or raise `options: {statement_timeout: …}`"
    )


def _unreachable(words: str, address: Address, deadline: Literal["connect_timeout", "statement_timeout"]) -> str:
    lower = words.lower()
    if unknown := unknown_host(words, address):
        return unknown
    if "timed out" in lower or "timeout" in lower:
        allowed = address.connect_timeout if deadline == "connect_timeout" else address.statement_timeout
        waited = age(allowed.total_seconds())
        return f"there was no answer in time ({words}); check `host` and `port`, or raise `options: {{{deadline}: …}}` above {waited}"
    return unanswered(words)
