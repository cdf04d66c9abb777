"""What an answer depends on besides rows: each transaction of ours sets it for itself, reads it back, and leaves nothing of it behind.

Behind a pooler the session belongs to everybody: what another client has set is there, and what we set would stay for the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from incremental_assets.adapters.databases.postgresql.sql import literal

NAME = "incremental-assets"
"""What people see of a session while a transaction of ours runs in it. Nothing is concluded from it: anybody may call a session so."""
ENDED = f"/* {NAME} */"
"""What a session that is idle shows at the end of its last statement, if that was ours."""
END, UNDO = f"COMMIT {ENDED}", f"ROLLBACK {ENDED}"
"""Nothing was written that might be taken back: a transaction is undone where it has failed."""
MAY_MARK = (
    "pg_catalog.has_function_privilege('pg_catalog.pg_try_advisory_xact_lock_shared(integer, integer)', 'EXECUTE')"
)
"""Every role may, unless somebody has taken that away."""
MARK = (0x696E6372, 0x61737374)
"""The two keys of the advisory lock that each transaction of ours shares while it lasts, by which other processes of ours know it."""

_CONSTANT: Mapping[str, str] = {
    # First of all: what a role's own path names before the catalogue, such as a monitoring view called pg_stat_activity, would answer in its
    # place. Tables are named with their schema, and what types do is not looked up by name.
    "search_path": "pg_catalog, pg_temp",
    # How values are printed.
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "xmlbinary": "base64",
    "xmloption": "content",
    "quote_all_identifiers": "off",
    # How what we ask is understood.
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "array_nulls": "on",
    "transform_null_equals": "off",
    # Which rows are there.
    "row_security": "on",
    "gin_fuzzy_search_limit": "0",
    # How long it may take: a snapshot is held idle while Spark reads by it, and the deadline of a statement is our own.
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "transaction_timeout": "0",
    # Compiling the expressions of a thousand light queries takes longer than answering them.
    "jit": "off",
    "application_name": NAME,
}
"""Set where the server has a setting of this name, in the server's own spelling."""
_OWN = ("role", "lc_monetary", "lc_numeric", "lc_time", "default_text_search_config")
"""As every session of this role begins: what another client of a pooler has set since does not count."""
_DAMAGED = ("zero_damaged_pages", "ignore_checksum_failure")
"""Under which a read passes over rows without an error; only a superuser may set them, so that they are looked at."""
_ENDS_TRANSACTIONS = 170_000
"""Since this version a server may end a transaction by its age."""
_WHERE_IT_CAN = "pg_catalog.textlike(pg_catalog.version(), '%-linux%')"
"""A server that does not run on Linux may refuse to look whether its client is still there, by which a count whose process was killed ends."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What transactions of ours differ in. `statement_timeout` None: a statement may take as long as it needs; `marked`: whether this role may take the lock; `beside`: more settings; `version`: the server's, 0 where it is not known."""

    statement_timeout: timedelta | None = None
    marked: bool = True
    beside: tuple[tuple[str, str], ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What the server says of a transaction of ours that has set all this."""

    in_force: bool
    users: tuple[str, str]
    """Who is logged in, and as whom he acts."""
    damaged: tuple[str, ...]
    """The settings that are on under which damaged rows are passed over."""
    server: str
    """Which running server it is: since when it runs, to the microsecond."""
    is_replica: bool

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Terms:
        """From the row that `pin` gives."""
        in_force, logged_in, acts_as, zeroed, ignored, server, is_replica, *_ = row
        damaged = tuple(name for name, value in zip(_DAMAGED, (zeroed, ignored), strict=True) if value != "off")
        return cls(in_force is True, (logged_in, acts_as), damaged, server, is_replica)

    def may_follow(self, before: Terms) -> bool:
        """Whether what one shows may be put beside what the other has shown. Of replicas nobody says that all has settled, whichever they are."""
        return self.server == before.server or (self.is_replica and before.is_replica)


def deadlines(timeout: timedelta | None, version: int = 0) -> tuple[str, ...]:
    """Before `pin`, statements that look nothing up: a role's own limits of some milliseconds may be over within the SELECT. `version`: the server's; 0 where it is not known."""
    ours = f"SET LOCAL statement_timeout = {_milliseconds(timeout)}"
    # That of the whole transaction runs since it began, and so ends first.
    return ("SET LOCAL transaction_timeout = 0", ours) if version >= _ENDS_TRANSACTIONS else (ours,)


def deadline(timeout: timedelta | None, version: int = 0) -> str:
    """The same in one text."""
    return "; ".join(deadlines(timeout, version))


@lru_cache(maxsize=64)
def pin(limits: Limits) -> str:
    """The one SELECT that sets it all until the end of the transaction. Every name is that of the catalogue, whatever the path is before."""
    constant = dict(_CONSTANT) | dict(limits.beside)
    set_one = "pg_catalog.set_config(s.name, s.value, true)"
    # What is so already costs nothing.
    read_back = f"CASE WHEN pg_catalog.texteq(pg_catalog.current_setting(s.name, true), s.value) THEN s.value ELSE {set_one} END"
    damaged = ", ".join(f"pg_catalog.current_setting('{name}')" for name in _DAMAGED)
    mark = f", pg_catalog.pg_try_advisory_xact_lock_shared({MARK[0]}, {MARK[1]})" if limits.marked else ""
    return (
        f"SELECT (SELECT pg_catalog.bool_and(pg_catalog.texteq({read_back}, s.value)) "
        f"FROM unnest({_array(constant)}, {_array(constant.values())}) AS s (name, value) "
        "WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL), "
        "session_user, current_user, "
        f"{damaged}, "
        "pg_catalog.to_char(pg_catalog.pg_postmaster_start_time(), 'YYYY-MM-DD HH24:MI:SS.US'), pg_catalog.pg_is_in_recovery(), "
        f"(SELECT pg_catalog.count(pg_catalog.set_config(s.name, NULL, true)) FROM pg_catalog.unnest({_array(_OWN)}) AS s (name)), "
        f"CASE WHEN {_WHERE_IT_CAN} THEN pg_catalog.set_config('client_connection_check_interval', '5s', true) END{mark}"
    )


def pin_session() -> str:
    """The one SELECT that sets what values are printed and understood by for a session that is all ours, as one of replication is: in force or not."""
    return (
        "SELECT pg_catalog.bool_and(pg_catalog.texteq(pg_catalog.set_config(s.name, s.value, false), s.value)) "
        f"FROM unnest({_array(_CONSTANT)}, {_array(_CONSTANT.values())}) AS s (name, value) "
        "WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL"
    )


def put_aside() -> Mapping[str, str]:
    """Settings and our values of them, but for those in which every server and client has its own taste."""
    tastes = {"search_path", "client_encoding", "TimeZone", "DateStyle", "jit", "application_name"}
    return {name: value for name, value in _CONSTANT.items() if name not in tastes}


def _array(texts: Iterable[str]) -> str:
    quoted = ",".join(f'"{text}"' for text in texts)
    return f"CAST({literal('{' + quoted + '}')} AS pg_catalog.text[])"


def _milliseconds(timeout: timedelta | None) -> int:
    return 0 if timeout is None else max(1, round(timeout.total_seconds() * 1000))
