"""Transactions of a binlog, which it calls groups of events: how each begins, and its global number."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.adapters.logs.mysql.events import Event, Kind

_STANDALONE = 1


@dataclass
class Group:
    """A transaction. `begun`: whether it has an end of its own, and is not one statement."""

    position: int
    second: int
    origin: str
    number: int
    begun: bool
    changes: int = 0
    is_passed: bool = False
    """Whether it was read before, on another server."""


def group_of(event: Event) -> Group:
    """The transaction that begins with this event, of the kind of either flavour."""
    return _of_mariadb(event) if event.kind is Kind.MARIADB_GTID else _of_mysql(event)


def _of_mysql(event: Event) -> Group:
    sid = event.body[1:17].hex()
    origin = "-".join((sid[:8], sid[8:12], sid[12:16], sid[16:20], sid[20:]))
    return Group(event.place.position, event.second, origin, int.from_bytes(event.body[17:25], "little"), begun=False)


def _of_mariadb(event: Event) -> Group:
    number, domain, flags = (
        int.from_bytes(event.body[:8], "little"),
        int.from_bytes(event.body[8:12], "little"),
        event.body[12],
    )
    return Group(event.place.position, event.second, f"{domain}-{event.server}", number, begun=not flags & _STANDALONE)
