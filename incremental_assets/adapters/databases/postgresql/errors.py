"""PostgreSQL's errors as sentences with the subject, the place and the cure; the server's message follows where it adds something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.read_timeout import SILENT
from incremental_assets.adapters.databases.postgresql.sql import identifier
from incremental_assets.adapters.databases.sentences import (
    ANOTHER_KIND,
    FULL,
    LOST,
    NO_COLUMN,
    REFUSED,
    TURNED_AWAY,
    cancelled,
    place_of,
    unanswered,
    unknown_host,
)
from incremental_assets.core.errors import (
    IncrementalAssetsError,
    SourceFull,
    SourceRefused,
    SourceUnreachable,
    TableMissing,
)
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import age

_OF_ANOTHER_KIND = ("expected authentication request", "invalid response to ssl negotiation")
"""What libpq says of a server that speaks another protocol."""
_JDBC = re.compile(r"org\.postgresql\.util\.PSQLException[:)] (.+)")
_JDBC_REFUSED = re.compile(r"\[FAILED_JDBC\.CONNECTION\].*")
"""Spark's own, where the very first of its connections fails; the driver's words are only in the Java that lies behind it."""

_NOT_TEXT = (errors.CharacterNotInRepertoire, errors.UntranslatableCharacter)
NOT_TEXT = (
    "a text that the source would have to send cannot be written in UTF-8 ({}), so nothing was read; correct that text in the source, "
    "or leave its column out with `columns: {{exclude: …}}`"
)
_POOLER_FULL = "query_wait_timeout"
"""What PgBouncer says to a client that has waited in vain for one of its connections to the server."""
POOLED_OUT = (
    "the pooler has no connection to the server left ({}); try again, raise its pool (in PgBouncer `default_pool_size`) to what the application and "
    "the sync need together, or lower `parallel: {{connections: …}}`"
)
_POOLER_ENDS = re.compile(r"(query|transaction)[ _]timeout")
"""What PgBouncer says before it ends a session by `query_timeout`, `transaction_timeout` or `idle_transaction_timeout`."""
ENDED_BY_POOLER = (
    "the pooler ended the session by a limit of its own ({}), and nothing was written; raise that there above what a read takes (in PgBouncer `query_timeout`, "
    "`idle_transaction_timeout`), or give the address of the server itself"
)
UNHELD = (
    "the session that holds the snapshot ended before all readers had seen it ({}), and nothing was written; run the sync again, and if that comes again, "
    "find who ends it: a pooler by a limit of its own (in PgBouncer `query_timeout`, `idle_transaction_timeout`), or somebody by hand"
)
_UNHELD = re.compile(
    r'invalid snapshot identifier|could not import the requested snapshot|snapshot "[-\dA-F]+" does not exist'
)
"""What a server says to a reader that comes when the snapshot is gone."""

_NO_ROOM = (
    "remaining connection slots are reserved",
    "too many connections for",
    "too many clients already",
    "no more connections allowed",
)
"""The words of a server, or of PgBouncer, that takes no more connections: of all, of a role or of a database."""
_FATAL = "FATAL: "
"""Before what a server says that ends a connection; with `lc_messages` of its own it may be another word."""
_PASSING = ("the database system is", "terminating connection")
"""Why a server lets nobody in just now."""
_QUOTED = re.compile(r'"[^"]*"')
_TLS = ("ssl error", "certificate", "does not support ssl")


def explain(error: Exception, address: Address, table: TableId | None) -> IncrementalAssetsError:
    """One sentence for one error of the driver."""
    place = place_of(address)
    words = _first_line(error)
    state = getattr(error, "sqlstate", None)
    if state is None:
        return _not_connected(address, place, words)
    if table is not None and (found := _not_there(error, table, words)):
        return found
    if isinstance(error, errors.UndefinedColumn):
        return SourceRefused(f"{table or place}: {NO_COLUMN.format(words)}")
    if isinstance(error, errors.InsufficientPrivilege):
        return SourceRefused(f"{table or place}: {_grant(address, table, words)} ({words})")
    if isinstance(error, _NOT_TEXT):
        return SourceRefused(f"{table or place}: {NOT_TEXT.format(words)}")
    if isinstance(error, errors.QueryCanceled):
        return SourceRefused(f"{table or place}: {cancelled(words, address)}")
    if isinstance(error, errors.TooManyConnections):
        return SourceFull(f"{place}: {FULL.format(words)}")
    if of_pooler := _of_pooler(error, words, table or place):
        return of_pooler
    if state.startswith(("08", "57P")):
        return SourceUnreachable(f"{place}: {LOST.format(words)}")
    return SourceRefused(f"{table or place}: {REFUSED.format(words)}")


def _of_pooler(error: Exception, words: str, subject: object) -> IncrementalAssetsError | None:
    """Where it lends no connection, or takes one back."""
    if isinstance(error, errors.ProtocolViolation) and _POOLER_FULL in words:
        return SourceFull(f"{subject}: {POOLED_OUT.format(words)}")
    if isinstance(error, errors.ProtocolViolation) and _POOLER_ENDS.search(words):
        return SourceRefused(f"{subject}: {ENDED_BY_POOLER.format(words)}")
    return None


def _not_there(error: Exception, table: TableId, words: str) -> IncrementalAssetsError | None:
    """Where the table itself is gone, or a materialized view without rows; a function that a view calls may miss a table of its own."""
    is_own = f"{table.schema}.{table.name}" in words
    if isinstance(error, errors.InvalidSchemaName) or (isinstance(error, errors.UndefinedTable) and is_own):
        return TableMissing(table)
    return _unfilled(table, words) if isinstance(error, errors.ObjectNotInPrerequisiteState) else None


def explain_read(text: str, address: Address, table: TableId) -> IncrementalAssetsError | None:
    """One sentence for an error of Spark whose cause is the JDBC driver's; None where it is not. Spark wraps it as it likes, its text stays."""
    found = _JDBC.search(text)
    if found is None and _JDBC_REFUSED.search(text) is None:
        return None
    words = found[1].strip().rstrip(".") if found else "it takes no new connection"
    if "permission denied" in words:
        return SourceRefused(f"{table}: {_grant(address, table, words)} ({words})")
    if any(told in words for told in _NO_ROOM):
        return SourceFull(f"{table}: {FULL.format(words)}")
    if _UNHELD.search(words):
        return SourceUnreachable(f"{table}: {UNHELD.format(words)}")
    if words.startswith(_FATAL) and _POOLER_ENDS.search(words):
        return SourceRefused(f"{table}: {ENDED_BY_POOLER.format(words)}")
    if words.startswith("ERROR:"):
        return _read_refused(table, words)
    return _silent(address, table) if "Read timed out" in text else _read_lost(address, table, words)


def unheld(error: psycopg.Error, table: TableId) -> IncrementalAssetsError:
    """For a reader that cannot import the snapshot."""
    return SourceUnreachable(f"{table}: {UNHELD.format(_first_line(error))}")


@contextmanager
def copying_explained(address: Address, table: TableId) -> Iterator[None]:
    """Turn whatever our own driver raises while a table is read into an error of the family."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        words = _first_line(error)
        raise SourceRefused(f"{table}: {_grant(address, table, words)} ({words})") from None
    except _NOT_TEXT as error:
        raise SourceRefused(f"{table}: {NOT_TEXT.format(_first_line(error))}") from None
    except errors.ObjectNotInPrerequisiteState as error:
        raise _unfilled(table, _first_line(error)) from None
    except psycopg.Error as error:
        words, state = _first_line(error), error.sqlstate or ""
        if isinstance(error, errors.TooManyConnections) or any(told in words for told in _NO_ROOM):
            raise SourceFull(f"{table}: {FULL.format(words)}") from None
        if words.startswith(SILENT):
            raise _silent(address, table) from None
        if of_pooler := _of_pooler(error, words, table):
            raise of_pooler from None
        is_lost = not state or state.startswith(("08", "57P"))
        raise (_read_lost(address, table, words) if is_lost else _read_refused(table, words)) from None


def _unfilled(table: TableId, words: str) -> IncrementalAssetsError:
    return SourceRefused(
        f"{table}: the source cannot read it as it is now: {words}; "
        "a materialized view that was made WITH NO DATA is filled by REFRESH MATERIALIZED VIEW, or left out by `exclude`"
    )


def _read_refused(table: TableId, words: str) -> IncrementalAssetsError:
    # What a row or a view's query does wrong, it does again.
    return SourceRefused(
        f"{table}: the source refused the read: {words}; nothing was written; if SELECT * FROM {render_table(table.schema, table.name)} fails in the "
        "source too, correct there what it reads (of a view, its query), else run the sync again"
    )


def _read_lost(address: Address, table: TableId, words: str) -> IncrementalAssetsError:
    return SourceUnreachable(
        f"{table}: the connection to {address.host}:{address.port} was lost while the table was read ({words}); "
        "the next sync goes on from what has landed"
    )


def _silent(address: Address, table: TableId) -> IncrementalAssetsError:
    return SourceUnreachable(
        f"{table}: {address.host}:{address.port} sent nothing for {age(address.socket_timeout.total_seconds())} while the table was read; "
        "the next sync goes on from what has landed; if it needs that long to find the first row, give the cursor an index "
        "(see `incremental-assets doctor`), or raise `options: {socket_timeout: …}`"
    )


def _grant(address: Address, table: TableId | None, words: str) -> str:
    # A catalogue, a function or a view's own table may be what is refused, in whatever language.
    if table is None or not any(
        re.search(rf"(?<![\w$]){re.escape(each)}(?![\w$])", words) for each in (table.schema, table.name)
    ):
        return f"the user {address.user} lacks a privilege; grant what the server names, `doctor --sql` prints what a sync needs beside it"
    schema, user = identifier(table.schema), identifier(address.user)
    grants = f"GRANT USAGE ON SCHEMA {schema} TO {user}; GRANT SELECT ON {schema}.{identifier(table.name)} TO {user}"
    return f"the user {address.user} may not read {render_table(table.schema, table.name)}; as its owner run {grants}"


def _not_connected(address: Address, place: str, words: str) -> IncrementalAssetsError:
    # libpq gives no SQLSTATE for a connection that never was; the server's words may be in any language, so the rest is quoted.
    # Quoted are names and files, which may be called anything.
    low = _QUOTED.sub('""', words).lower()
    if any(told in low for told in _NO_ROOM):
        return SourceFull(f"{place}: {FULL.format(words)}")
    if "no password supplied" in low and not address.password:
        return SourceUnreachable(
            f"{place}: the server asks {address.user} for a password, and the source has none; write `password: {{env: NAME}}` or `{{file: path}}`"
        )
    if "password authentication failed" in low or "no password supplied" in low:
        return SourceUnreachable(
            f"{place}: the password of {address.user} is refused; check the secret that `password` refers to, and `user`"
        )
    if "does not exist" in low and "database" in low:
        return SourceUnreachable(f"{place}: there is no database {address.database!r} on this server; check `database`")
    if "does not exist" in low and "role" in low:
        return SourceUnreachable(
            f"{place}: there is no user {address.user!r} on this server; check `user`, `doctor --sql` prints how to create it"
        )
    if "pg_hba.conf" in low:
        return SourceUnreachable(
            f"{place}: the server rejects this connection ({words}); add a line for it to pg_hba.conf, or change `tls`"
        )
    if any(told in low for told in _OF_ANOTHER_KIND):
        return SourceUnreachable(f"{place}: {ANOTHER_KIND.format(words)}")
    if unknown := unknown_host(words, address):
        return SourceUnreachable(f"{place}: {unknown}")
    if any(each in low for each in _TLS):
        return SourceUnreachable(f"{place}: no connection under `tls: {address.tls}` ({words}); {_tls_cure(low)}")
    return SourceUnreachable(f"{place}: {_turned_away(words, low)}")


def _turned_away(words: str, low: str) -> str:
    if _FATAL in words and not any(told in low for told in _PASSING):
        return TURNED_AWAY.format(words)
    return unanswered(words)


def _tls_cure(words: str) -> str:
    if "does not support ssl" in words:
        return "switch TLS on in the server; on a network that nobody else can read, `tls: disable` does without"
    if "does not match host name" in words:
        return "write `host` by a name that the certificate carries"
    # libpq says no more of it than that it did not verify.
    return "renew the server's certificate where it has expired; else put its authority into ~/.postgresql/root.crt, or name it in PGSSLROOTCERT"


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # psycopg lists every address it tried; the last line of libpq's own is the reason.
    return lines[0].rstrip(".") if lines else type(error).__name__
