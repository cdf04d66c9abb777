"""The names of databases in sources.yaml, and what Dagster calls them. Their code is in adapters/databases."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.metadata import entry_points

GROUP = "incremental_assets.dialects"
"""Entry points under which another package offers a dialect of its own."""
BUILT_IN = ("postgresql", "sqlite", "mariadb", "mysql", "sqlserver", "oracle")
FILES = ("sqlite",)
"""Those whose `database` is a file: they have no host, no user and no password."""
SCHEMA_IS_DATABASE = ("mariadb", "mysql")
"""Those that have no schemas within a database: what they call so is the database itself."""
NUMBERINGS = {"postgresql": "xmin", "sqlserver": "rowversion", "oracle": "ora_rowscn"}
"""What those call it that keep with each row the number of the transaction which wrote it: a type of cursors."""
WITHOUT_COMPARE = ("sqlserver", "oracle")
"""Those of which no table can be compared yet."""
SCHEMA_IS_USER = ("oracle",)
"""Those in which a schema is what a user owns, in upper case unless it is quoted."""
_PORTS = {"mariadb": 3306, "mysql": 3306, "sqlserver": 1433, "oracle": 1521}
_SCHEMAS = {"sqlite": "main", "sqlserver": "dbo"}

_ALIASES = {"postgres": "postgresql", "sqlite3": "sqlite", "mssql": "sqlserver"}
"""Other beginnings of a URL that people know."""
_KINDS = {"postgresql": "postgres", "sqlserver": "mssql"}
"""Dagster's name for a database, by which it chooses an icon, where it differs from ours."""


def known_dialects() -> tuple[str, ...]:
    """All that may be written: those of this package and of others that are installed."""
    return (*BUILT_IN, *sorted(entry.name for entry in entry_points(group=GROUP)))


def checked_dialect(name: str) -> str:
    """A dialect that is there. ValueError says what to write."""
    if name in BUILT_IN:
        return name
    known = ", ".join(BUILT_IN)
    if any(entry_points(group=GROUP, name=name)):
        return name
    if near := get_close_matches(name, BUILT_IN, n=1):
        raise ValueError(f"did you mean `{near[0]}`?")
    raise ValueError(f"there is no dialect {name!r}; use {known}, or install the package that brings it")


def port_of(name: str) -> int:
    """The port at which its servers listen unless configured otherwise; 5432 for a dialect of another package."""
    return _PORTS.get(name, 5432)


def schema_of(name: str) -> str:
    """The schema in which its tables lie unless other schemas are written; `public` for a dialect of another package."""
    return _SCHEMAS.get(name, "public")


def dialect_of_scheme(scheme: str) -> str:
    """The dialect that the beginning of a URL means; a driver after a `+` is another program's. ValueError says what to write."""
    name = scheme.partition("+")[0].lower()
    return checked_dialect(_ALIASES.get(name, name))


def kind_of(name: str) -> str:
    """The dialect in Dagster's words."""
    return _KINDS.get(name, name)
