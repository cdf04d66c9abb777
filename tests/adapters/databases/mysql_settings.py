"""What a server of MariaDB or MySQL, `init_connect` or a user's account may have set against a session of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pymysql

MODES = "ANSI_QUOTES,PIPES_AS_CONCAT,NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,NO_BACKSLASH_ESCAPES,IGNORE_SPACE"
_READER = "reader@'127.0.0.1'"
BOTH = {
    "a client of people's": (
        "sql_select_limit = 5",
        "max_join_size = 1",
        "sql_safe_updates = 1",
        "completion_type = 1",
    ),
    "one row, and no connection after it": ("sql_select_limit = 1", "completion_type = 2", "autocommit = 0"),
    "no row": ("sql_select_limit = 0",),
    "another language": (
        f"sql_mode = '{MODES}'",
        "sql_auto_is_null = 1",
        "character_set_client = latin1",
        "character_set_connection = utf16",
        "character_set_results = latin1",
        "lc_time_names = be_BY",
        "lc_messages = be_BY",
    ),
    "other functions": (
        "collation_connection = utf8mb4_bin",
        "div_precision_increment = 12",
        "default_week_format = 6",
        "group_concat_max_len = 4",
        "max_sort_length = 64",
        "sql_quote_show_create = 0",
        "sql_buffer_result = 1",
        "sql_mode = 'TRADITIONAL'",
    ),
}
"""Each is `SET GLOBAL`, so that every session begins with it."""
MARIADB = {
    "another time": (
        "system_versioning_asof = '2020-01-01 00:00:00'",
        "tx_isolation = 'READ-UNCOMMITTED'",
        "tx_read_only = 1",
    ),
    "other words": (
        "sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL'",
        "old_mode = 'ZERO_DATE_TIME_CAST'",
        "default_regex_flags = 'EXTENDED'",
        "max_recursive_iterations = 1",
    ),
    "no time": ("max_statement_time = 0.000001", "idle_transaction_timeout = 1", "tx_isolation = 'SERIALIZABLE'"),
}
MYSQL = {
    "another time": ("transaction_isolation = 'READ-UNCOMMITTED'", "transaction_read_only = 1"),
    "other words": (
        "cte_max_recursion_depth = 1",
        "windowing_use_high_precision = 0",
        "show_old_temporals = 1",
        "transaction_isolation = 'SERIALIZABLE'",
    ),
    "no time": ("max_execution_time = 1",),
}
SESSIONS = (
    "SET @@sql_mode = 'ANSI_QUOTES', @@sql_select_limit = 3, @@time_zone = '+11:00', @@max_join_size = 2, @@completion_type = 2, @@timestamp = 86400",
    "SET @@character_set_results = latin1, @@group_concat_max_len = 4, @@div_precision_increment = 0, @@lc_time_names = 'be_BY', @@autocommit = 0",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "CREATE TEMPORARY TABLE orders (id bigint PRIMARY KEY, note varchar(200), price decimal(12,3), share double precision, born date, updated_at datetime)",
)
"""`init_connect` runs for whoever is no administrator, and may do what no global can."""
ODD: Mapping[str, tuple[str, ...]] = {
    "computed": (
        "CREATE TABLE computed (id int PRIMARY KEY, at timestamp NULL, blank char(8), price int, word varchar(20))",
        "ALTER TABLE computed ADD COLUMN third decimal(30,20) GENERATED ALWAYS AS (price / 3) VIRTUAL, ADD COLUMN found int GENERATED ALWAYS AS (word REGEXP 'a b') VIRTUAL",
        "INSERT INTO computed (id, at, blank, price, word) VALUES (1, '2024-03-31 01:30:00', 'x ', 2, 'ab'), (2, NULL, '', -7, 'a b'), (3, '2024-10-27 02:30:00', NULL, NULL, '')",
    ),
    "shown": (
        "CREATE VIEW shown AS SELECT (SELECT GROUP_CONCAT(note ORDER BY id) FROM orders) AS notes, 1 / 7 AS part, DATE_FORMAT('2024-03-01', '%W') AS day, WEEK('2008-02-20') AS week",
    ),
    "stepped": (
        "CREATE VIEW stepped AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT COUNT(*) AS steps FROM n",
    ),
    "long_ones": (
        "CREATE VIEW long_ones AS SELECT COUNT(*) AS differing FROM (SELECT DISTINCT CONCAT(REPEAT('x', 300), id) AS long_text FROM orders) AS d",
    ),
}
VERSIONED = (
    "CREATE TABLE versioned (id int PRIMARY KEY, note varchar(20)) WITH SYSTEM VERSIONING",
    "INSERT INTO versioned VALUES (1, 'now'), (2, 'now')",
)


LIMITS = {"MariaDB": ("MAX_STATEMENT_TIME", "0.000001"), "MySQL": ("MAX_USER_CONNECTIONS", "50")}
_CONNECT, _USER = "init_connect", "limits of the user"


def hostile(title: str) -> tuple[str, ...]:
    """The names that `under` takes."""
    return (*_globals(title), _CONNECT, _USER)


@contextmanager
def under(admin: pymysql.Connection, title: str, name: str) -> Iterator[None]:
    """Set for every session that the reader opens in the block."""
    with admin.cursor() as cursor, ExitStack() as back:
        if name == _USER:
            limit, value = LIMITS[title]
            cursor.execute(f"ALTER USER {_READER} WITH {limit} {value}")
            back.callback(cursor.execute, f"ALTER USER {_READER} WITH {limit} 0")
        elif name == _CONNECT:
            cursor.execute(f"GRANT CREATE TEMPORARY TABLES ON *.* TO {_READER}")
            back.callback(cursor.execute, f"REVOKE CREATE TEMPORARY TABLES ON *.* FROM {_READER}")
            cursor.execute("SET GLOBAL init_connect = %s", ("; ".join(SESSIONS),))
            back.callback(cursor.execute, "SET GLOBAL init_connect = ''")
        else:
            for setting in _globals(title)[name]:
                back.callback(cursor.execute, undone(cursor, setting.partition(" ")[0]))
                cursor.execute(f"SET GLOBAL {setting}")
        yield


def of_a_session(cursor: pymysql.cursors.Cursor) -> set[str]:
    """The names of the variables that a session has of its own, whether it may set them or not."""
    cursor.execute("SHOW SESSION VARIABLES")
    return {name.lower() for name, _ in cursor.fetchall() if _is_of_a_session(cursor, name)}


def _is_of_a_session(cursor: pymysql.cursors.Cursor, name: str) -> bool:
    try:
        cursor.execute(f"SET SESSION {name} = @@SESSION.{name}")
    except pymysql.Error as error:
        # That of the whole server, or one that tells something and cannot be set.
        return error.args[0] not in (1193, 1228, 1229, 1238)
    return True


def _globals(title: str) -> Mapping[str, tuple[str, ...]]:
    return {**BOTH, **(MARIADB if title == "MariaDB" else MYSQL)}


def undone(cursor: pymysql.cursors.Cursor, variable: str) -> str:
    """What sets it back."""
    cursor.execute(f"SELECT @@GLOBAL.{variable}")
    ((before,),) = cursor.fetchall()
    return f"SET GLOBAL {variable} = {before if before == 'DEFAULT' else cursor.connection.escape(before)}"
