"""What a dialect owes to the rooms around it: how a read is put to its database and how its columns travel to Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Address:
    """Where a source is and who asks; the password never shows."""

    dialect: str
    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    tls: str = "disable"
    connect_timeout: timedelta = timedelta(seconds=10)
    socket_timeout: timedelta = timedelta(seconds=60)
    statement_timeout: timedelta = timedelta(minutes=15)
    schemas: tuple[str, ...] = ("public",)
    fetch_size: int = 1000
    connections: int = 4


@dataclass(frozen=True, slots=True)
class Transport:
    """How one column travels. `select` is SQL of the source giving `alias`; `spark` is Spark SQL over `alias` giving the column."""

    name: str
    alias: str
    select: str
    spark: str


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """One read: a complete SELECT with the transports and the four flag columns, and predicates on its output that split it.

    `parts` is empty when one connection reads it all; otherwise the predicates are disjoint and cover every row.
    """

    sql: str
    transports: tuple[Transport, ...]
    parts: tuple[str, ...] = ()
