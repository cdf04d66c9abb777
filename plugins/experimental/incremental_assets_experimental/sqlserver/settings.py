"""The settings of a session: the server's `user options`, a login or a logon trigger may have set any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from incremental_assets.adapters.databases.settings import Setting, check_settings
from incremental_assets_experimental.rowwise.row_dialect import Row

SETTINGS: Mapping[str, Setting] = {
    "SET QUOTED_IDENTIFIER ON": Setting("quoted_identifier", "1", "names are taken for texts"),
    "SET ANSI_NULLS ON": Setting("ansi_nulls", "1", "NULL is equal to NULL in a view"),
    "SET ANSI_WARNINGS ON": Setting("ansi_warnings", "1", "a division by zero in a view is NULL"),
    "SET ARITHABORT ON": Setting("arithabort", "1", "a view that is indexed is not used"),
    "SET CONCAT_NULL_YIELDS_NULL ON": Setting(
        "concat_null_yields_null", "1", "a text joined with NULL is a text in a view"
    ),
    "SET LANGUAGE us_english": Setting("language", "us_english", "names of days and months in a view are others"),
    "SET DATEFORMAT ymd": Setting("date_format", "ymd", "a date in a view's text is another one"),
    "SET DATEFIRST 7": Setting("date_first", "7", "the days of a week in a view count from another one"),
    "SET TEXTSIZE 2147483647": Setting("text_size", "2147483647", "long values are cut"),
}
"""Each by the statement that sets it, in their order: a language brings its own dates."""
UNTOLD = ("SET ROWCOUNT 0", "SET NOCOUNT ON", "SET IMPLICIT_TRANSACTIONS OFF", "SET NUMERIC_ROUNDABORT OFF")
"""What no view tells: a limit on rows among them, by which the number of rows is asked for apart."""
QUESTION = (
    "SELECT "
    + ", ".join(f"CONVERT(nvarchar(128), {each.name})" for each in SETTINGS.values())
    + " FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
)


def check(rows: Callable[[str], Iterator[Row]], place: str) -> None:
    """The session has all of them. Raises SourceRefused, which names the first that it has not."""
    told: Iterable[object] = chain.from_iterable(rows(QUESTION))
    found = {each.name: str(value) for each, value in zip(SETTINGS.values(), told, strict=False)}
    check_settings(place, SETTINGS.values(), found)
