"""Questions that keep nothing in its session: each is a transaction of its own, which sets what an answer depends on and ends with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import pq

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.pinned import END, UNDO, Limits, Terms, deadlines, pin
from incremental_assets.adapters.databases.postgresql.pipeline import Rows, Statement, together
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.adapters.databases.postgresql.sql import identifier
from incremental_assets.adapters.databases.sentences import place_of
from incremental_assets.core.errors import SourceRefused

NOT_IN_FORCE = (
    "what a sync sets in its own transaction does not hold there, so nothing was read; what stands between us and the server changes what "
    "it passes on: give the address of the server itself"
)
DAMAGED = (
    "{} is on, under which the server passes over damaged rows without an error, so nothing was read; "
    "as a superuser run ALTER ROLE {} SET {} = off, or switch it off in the server"
)
TWO_SERVERS = (
    "two servers answer behind this address, and what is open on one of them says nothing of the rows that the other shows, so nothing was read; "
    "name one of them as `host`, or have the pooler send everything to it"
)
OTHER_USER = (
    "this session belongs to {} and acts as {}, and was another user's a moment ago, so nothing was read; "
    "a client of the same pooler has changed the user of a connection that it gave back: give the sync a role, and so a pool, of its own"
)

_ALONE = "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY"
"""Whatever the role's own default is: a serializable reader would make others' transactions fail."""
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_OPEN = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)


@dataclass(frozen=True, slots=True)
class Answer:
    """All rows, which have arrived."""

    rows: Rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def fetchall(self) -> Rows:
        """All."""
        return self.rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first; None where there is none."""
        return self.rows[0] if self.rows else None


class Asked:
    """Takes `$1` for a value, so that a `%` or `:` in a name is nothing special. Raises SourceRefused where an answer would not be what it seems."""

    def __init__(self, connection: Patient, address: Address) -> None:
        self.connection = connection
        version = connection.info.server_version
        self._address, self._limits = address, Limits(address.statement_timeout, connection.marked, version=version)
        self._terms: Terms | None = None

    def execute(self, sql: str, values: Sequence[Any] | None = None) -> Answer:
        """Asked in the transaction that is held, or in one of its own: begun, pinned, asked and ended in one round trip."""
        if self._is_held:
            with psycopg.RawCursor(self.connection) as held:
                held.execute(sql.encode(), values or None)
                return Answer(held.fetchall() if held.description is not None else [])
        return self._asked(_ALONE, (sql, values or ()), (END, ()))

    def begin(self, sql: str) -> Answer:
        """Begin a transaction whose every statement sees the same snapshot, and ask the first; it is held until its end."""
        return self._asked(_SNAPSHOT, (sql, ()))

    def _begun(self, begin: str) -> tuple[Statement, ...]:
        first = deadlines(self._limits.statement_timeout, self._limits.version)
        return (begin, ()), *((each, ()) for each in first), (pin(self._limits), ())

    def end(self) -> None:
        """End the transaction that is held."""
        self.execute(END)

    @contextmanager
    def held(self) -> Iterator[None]:
        """One transaction, and one snapshot, for all that is asked inside."""
        self.begin("SELECT")
        try:
            yield
        except BaseException:
            self.clear()
            raise
        self.end()

    def _asked(self, begin: str, *statements: Statement) -> Answer:
        begun = self._begun(begin)
        try:
            (terms,), answer, *_ = together(self.connection, [*begun, *statements])[len(begun) - 1 :]
            self._terms = trusted(Terms.of(terms), self._terms, self._address)
        except BaseException:
            self.clear()
            raise
        return Answer(answer)

    def clear(self) -> None:
        """What has failed leaves no transaction open."""
        if self._is_held:
            with suppress(psycopg.Error):
                self.connection.execute(UNDO.encode())

    @property
    def _is_held(self) -> bool:
        return self.connection.pgconn.transaction_status in _OPEN

    @property
    def terms(self) -> Terms:
        """What the last transaction has said of itself."""
        if self._terms is None:
            raise ValueError("nothing has been asked yet")
        return self._terms

    @property
    def encoding(self) -> str:
        """The database's, as the server says it at the beginning of a session."""
        return self.connection.info.parameter_status("server_encoding") or ""

    @property
    def marked(self) -> bool:
        """Whether the transactions are marked as ours."""
        return self._limits.marked

    @property
    def pooled(self) -> bool:
        """Whether a pooler answers, and not the server."""
        return self.connection.pooled

    def within(self, timeout: timedelta) -> AbstractContextManager[None]:
        """Another deadline for the questions inside, in their own transactions."""
        return self._limited(replace(self._limits, statement_timeout=timeout))

    def beside(self, **settings: str) -> AbstractContextManager[None]:
        """More settings for the questions inside, in their own transactions."""
        return self._limited(replace(self._limits, beside=(*self._limits.beside, *settings.items())))

    @contextmanager
    def _limited(self, limits: Limits) -> Iterator[None]:
        before, self._limits = self._limits, limits
        try:
            yield
        finally:
            self._limits = before

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What fails inside leaves a transaction that is held as it was."""
        if not self._is_held:
            yield
            return
        self.execute("SAVEPOINT before_them")
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                self.execute("ROLLBACK TO SAVEPOINT before_them")
            raise


def trusted(found: Terms, before: Terms | None, address: Address) -> Terms:
    """What a transaction says of itself, where its answers are what they seem: as they were pinned, from the server and for the user of before. Raises SourceRefused."""
    place = place_of(address)
    if not found.in_force:
        raise SourceRefused(f"{place}: {NOT_IN_FORCE}")
    if found.damaged:
        names = " and ".join(found.damaged)
        raise SourceRefused(f"{place}: {DAMAGED.format(names, identifier(address.user), found.damaged[0])}")
    if before is not None and not found.may_follow(before):
        raise SourceRefused(f"{place}: {TWO_SERVERS}")
    if before is not None and before.users != found.users:
        raise SourceRefused(f"{place}: {OTHER_USER.format(*found.users)}")
    return found
