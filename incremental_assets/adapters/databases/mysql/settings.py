"""The settings of a session: a server, `init_connect`, a user's resources or a proxy may have set any of them, and what a SELECT answers depends on these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import pymysql

from incremental_assets.adapters.databases.mysql.flavour import MARIADB, Flavour
from incremental_assets.adapters.databases.settings import Setting, check_settings
from incremental_assets.core.errors import SourceRefused

NO_LIMIT = "18446744073709551615"
CHARACTERS, COLLATION = "utf8mb4", "utf8mb4_general_ci"

_ORDER = "a transaction may end the connection, or begin another one, where it ends"
_ISOLATION = Setting(
    "transaction_isolation",
    "REPEATABLE-READ",
    "one snapshot does not show the same rows to each question",
    former="tx_isolation",
)
_DIRTY = "READ-UNCOMMITTED"
_BOTH = (
    Setting("sql_select_limit", NO_LIMIT, "an answer has only so many rows"),
    Setting("max_join_size", NO_LIMIT, "the server refuses a question that looks at more rows"),
    # After the one before, which switches it off.
    Setting("sql_big_selects", "ON", "the server refuses a question that looks at more rows than `max_join_size`"),
    Setting("completion_type", "NO_CHAIN", _ORDER),
    Setting("autocommit", "ON", "each question is answered from the view that the first one took"),
    _ISOLATION,
    Setting("transaction_read_only", "ON", "a session of ours may write", former="tx_read_only"),
    Setting(
        "sql_mode",
        "",
        "quotes, `||`, `NOT`, `-`, zero dates, blanks at the end of a CHAR and empty texts mean something else",
    ),
    Setting("sql_auto_is_null", "OFF", "`IS NULL` finds the row that was inserted last"),
    Setting("time_zone", "+00:00", "a `timestamp` comes in another zone"),
    Setting("character_set_client", CHARACTERS, "names and values that are asked for are taken for others"),
    Setting("character_set_connection", CHARACTERS, "the text of a number has other bytes, and so another hash"),
    Setting("character_set_results", CHARACTERS, "texts come in other bytes, or with question marks"),
    Setting("collation_connection", COLLATION, "texts that the server makes are compared in another way"),
    Setting("div_precision_increment", "4", "a division in a view or a generated column has other digits"),
    Setting("default_week_format", "0", "`WEEK()` in a view or a generated column counts from another day"),
    Setting("lc_time_names", "en_US", "names of days and months in a view or a generated column are others"),
    Setting("lc_messages", "en_US", "errors come in another language than the one in which they are known"),
    Setting("group_concat_max_len", "1073741824", "`GROUP_CONCAT` in a view cuts its text"),
    Setting("max_sort_length", "1024", "`DISTINCT` and `GROUP BY` of long texts in a view take others for equal"),
    Setting("sql_quote_show_create", "ON", "a definition comes without quotes"),
    Setting("sql_buffer_result", "OFF", "every answer is first written to a temporary table"),
    Setting("net_write_timeout", "600", "the server gives a reader up that writes its rows to disk meanwhile"),
    Setting("wait_timeout", "28800", "the server gives a session up that compares rows meanwhile"),
    Setting("lock_wait_timeout", "86400", "a table that is altered just now is not waited for"),
)
_MARIADB = (
    Setting("system_versioning_asof", "DEFAULT", "a versioned table shows the rows of another time"),
    Setting("max_recursive_iterations", "4294967295", "a recursive view ends early"),
    Setting("old_mode", "UTF8_IS_UTF8MB3", "casts of times and the name `utf8` mean something else"),
    Setting("default_regex_flags", "", "a regular expression in a view or a generated column finds something else"),
    Setting("query_cache_type", "OFF", "an answer may be one that was kept", everywhere=False),
    Setting("wsrep_dirty_reads", "OFF", "a node that has lost its cluster answers as if it had not", everywhere=False),
    Setting("idle_transaction_timeout", "0", "the server ends a snapshot that is held"),
    Setting("idle_readonly_transaction_timeout", "0", "the server ends a snapshot that is held"),
)
_MYSQL = (
    Setting("cte_max_recursion_depth", "4294967295", "a recursive view is refused"),
    Setting("windowing_use_high_precision", "ON", "sums over a window in a view are less exact"),
    Setting(
        "use_secondary_engine",
        "OFF",
        "a copy of the table in another engine answers, which may be behind",
        everywhere=False,
    ),
    Setting("show_old_temporals", "OFF", "types of old tables come with a comment", everywhere=False),
    Setting(
        "show_gipk_in_create_table_and_information_schema",
        "ON",
        "a primary key that the server has added is not shown",
        everywhere=False,
    ),
)
_FIRST = 3
_CLIENTS = range(2000, 3000)
"""Errors of the driver's own: the line is gone, or what arrived is not understood."""


class Asked(Protocol):
    """What a session's settings are asked and set by."""

    def execute(self, sql: str) -> None:
        """A statement without an answer."""

    def rows(self, sql: str) -> list[tuple[str | None, ...]]:
        """All of an answer, as texts."""


def settings_of(flavour: Flavour) -> tuple[Setting, ...]:
    """In the order in which they are set."""
    return (*_BOTH, *(_MARIADB if flavour is MARIADB else _MYSQL))


def set_all(asked: Asked, flavour: Flavour, place: str) -> None:
    """Sets whatever is not as it must be, and checks it. Raises SourceRefused, which names what stays as it was."""
    settings = settings_of(flavour)
    # What is written from here on is understood, and then not cut or refused.
    asked.execute(f"SET NAMES {CHARACTERS} COLLATE {COLLATION}")
    refused = _set(asked, settings[:_FIRST])
    found = _told(asked, settings)
    wrong = [each for each in settings if (name := each.name_in(found)) is not None and found[name] != each.value]
    refused |= _set(asked, wrong, found)
    check(asked, flavour, place, refused)
    # A proxy may pass on a transaction that somebody else has begun.
    asked.execute("ROLLBACK")
    _check_clock(asked, place)


def check(asked: Asked, flavour: Flavour, place: str, refused: Mapping[str, str] | None = None) -> None:
    """The session has all of them still. Raises SourceRefused."""
    settings = settings_of(flavour)
    check_settings(place, settings, _told(asked, settings), refused)


def check_dirty(asked: Asked, flavour: Flavour, place: str) -> None:
    """The same of a transaction that is to show what is not committed. Raises SourceRefused."""
    settings = [replace(each, value=_DIRTY) if each is _ISOLATION else each for each in settings_of(flavour)]
    check_settings(place, settings, _told(asked, settings))


def _told(asked: Asked, settings: Sequence[Setting]) -> dict[str, str]:
    names = ", ".join(f"'{name}'" for each in settings for name in (each.name, each.former) if name)
    told = asked.rows(f"SHOW SESSION VARIABLES WHERE Variable_name IN ({names})")
    return {(name or "").lower(): value or "" for name, value in told}


def _set(asked: Asked, settings: Iterable[Setting], names: Mapping[str, str] | None = None) -> dict[str, str]:
    """The server's words for each that it does not let the session set."""
    refused = {}
    for each in settings:
        value = each.value if each.value.isdigit() or each.value == "DEFAULT" else f"'{each.value}'"
        name = each.name if names is None else each.name_in(names)
        words = _refused(asked, f"SET SESSION {name} = {value}")
        if words:
            refused[each.name] = words
    return refused


def _refused(asked: Asked, statement: str) -> str:
    try:
        asked.execute(statement)
    except pymysql.Error as error:
        if error.args and error.args[0] in _CLIENTS:
            raise
        return str(error.args[-1]) if error.args else type(error).__name__
    return ""


def _check_clock(asked: Asked, place: str) -> None:
    """`SET timestamp` holds the session's clock, and with it what is taken for now."""
    words = _refused(asked, "SET SESSION timestamp = DEFAULT")
    first, second = (asked.rows("SELECT @@timestamp") for _ in range(2))
    if first == second:
        raise SourceRefused(
            f"{place}: the session's clock stands still at {first[0][0]}, as `timestamp` is set and cannot be set back ({words or 'nobody says why'}); "
            "have neither `init_connect` nor a proxy set it"
        )
