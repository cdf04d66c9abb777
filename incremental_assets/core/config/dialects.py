"""The names of sources in sources.yaml, what the configuration must know of each database, and what Dagster calls them. Their code is in adapters/databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

GROUP = "incremental_assets.dialects"
"""Entry points under which another package offers a dialect of its own: a `Dialect`."""
FACTS_GROUP = "incremental_assets.dialect_facts"
"""Those under which it says, by the same name, what the configuration must know of it: a `DialectFacts`."""

KINDS_GROUP = "incremental_assets.source_kinds"
"""Those under which another package offers a kind of source that is no database: a `SourceKind`."""


@dataclass(frozen=True, slots=True)
class DialectFacts:
    """What the configuration must know of a database, which loads nothing that talks to one."""

    port: int = 5432
    """At which its servers listen, unless configured otherwise."""
    schema: str = "public"
    """In which its tables lie, unless other schemas are written."""
    is_file: bool = False
    """Whether its `database` is a file: it has no host, no user and no password."""
    schema_is_database: bool = False
    """Whether it has no schemas within a database: what it calls so is the database itself."""
    schema_is_user: bool = False
    """Whether a schema is what a user owns, in upper case unless it is quoted."""
    numbering: str = ""
    """What it calls the number of the transaction that wrote a row, which it keeps with the row: a type of cursors. Empty: it keeps none."""
    has_log: bool = False
    """Whether its tables can be read from its log."""
    keeps_log: bool = False
    """Whether it keeps its log for whoever has not read it, by a slot."""
    compares: bool = True
    """Whether its tables can be compared."""
    chooses_rows: bool = False
    """Whether some rows of a table can be read without the others, as `where` says."""
    lists_schemas: bool = False
    """Whether it is asked which schemas there are, so that a glob may stand for some."""
    masks: bool = False
    """Whether what reads its rows masks columns before they are anywhere else."""
    tunnels: bool = False
    """Whether it can be reached through a server of SSH."""
    schemes: tuple[str, ...] = ()
    """Other beginnings of a URL that people know."""
    lineage: str = ""
    """How catalogues of lineage begin the names of its servers, where that differs from ours."""
    kind: str = ""
    """Dagster's name for it, by which it chooses an icon, where that differs from ours."""


_FACTS: Mapping[str, DialectFacts] = MappingProxyType(
    {
        "postgresql": DialectFacts(
            numbering="xmin",
            has_log=True,
            keeps_log=True,
            chooses_rows=True,
            masks=True,
            lists_schemas=True,
            tunnels=True,
            schemes=("postgres",),
            lineage="postgres",
            kind="postgres",
        ),
        "sqlite": DialectFacts(
            schema="main", is_file=True, chooses_rows=True, masks=True, lists_schemas=True, schemes=("sqlite3",)
        ),
        "mariadb": DialectFacts(
            port=3306,
            schema_is_database=True,
            has_log=True,
            chooses_rows=True,
            masks=True,
            lists_schemas=True,
            tunnels=True,
            lineage="mysql",
        ),
        "mysql": DialectFacts(
            port=3306,
            schema_is_database=True,
            has_log=True,
            chooses_rows=True,
            masks=True,
            lists_schemas=True,
            tunnels=True,
        ),
    }
)
BUILT_IN = tuple(_FACTS)
OTHERS = ("kafka", "files")
"""The sources of this package that are no database."""
_EXTRAS = {"sqlserver": "sqlserver", "mssql": "sqlserver", "oracle": "oracle"}
"""What people write for a database that has a package of its own, and the extra which installs that."""


def known_dialects() -> tuple[str, ...]:
    """All that may be written: those of this package and of others that are installed."""
    return (
        *BUILT_IN,
        *OTHERS,
        *sorted(entry.name for group in (GROUP, KINDS_GROUP) for entry in entry_points(group=group)),
    )


@cache
def facts_of(name: str) -> DialectFacts:
    """What the configuration knows of a dialect; of one whose package says nothing, the defaults."""
    if name in _FACTS:
        return _FACTS[name]
    for entry in entry_points(group=FACTS_GROUP, name=name):
        found: DialectFacts = entry.load()
        return found
    return DialectFacts()


def checked_dialect(name: str) -> str:
    """A dialect that is there. ValueError says what to write."""
    if name in (*BUILT_IN, *OTHERS) or any(entry_points(group=group, name=name) for group in (GROUP, KINDS_GROUP)):
        return name
    if name in _EXTRAS:
        raise ValueError(
            f"this database has a package of its own, which is not installed; install it by `pip install 'incremental-assets[{_EXTRAS[name]}]'`"
        )
    if near := get_close_matches(name, known_dialects(), n=1):
        raise ValueError(f"did you mean `{near[0]}`?")
    raise ValueError(
        f"there is no dialect {name!r}; use {', '.join(known_dialects())}, or install the package that brings it"
    )


def is_brought_by_nobody(name: str) -> bool:
    """Whether the name is near none that is there, so that nothing is known of the keys that such a source has."""
    if not name or name in BUILT_IN or name in _EXTRAS:
        return False
    known = known_dialects()
    return name not in known and not get_close_matches(name, known, n=1)


def logged() -> tuple[str, ...]:
    """The dialects whose log is read."""
    return tuple(name for name in known_dialects() if facts_of(name).has_log)


def choosing() -> tuple[str, ...]:
    """The dialects of whose tables some rows can be read without the others."""
    return tuple(name for name in known_dialects() if facts_of(name).chooses_rows)


def listing() -> tuple[str, ...]:
    """The dialects that are asked which schemas there are."""
    return tuple(name for name in known_dialects() if facts_of(name).lists_schemas)


def tunnelled() -> tuple[str, ...]:
    """The dialects that can be reached through a server of SSH."""
    return tuple(name for name in known_dialects() if facts_of(name).tunnels)


def masking() -> tuple[str, ...]:
    """The dialects whose columns can be masked."""
    return tuple(name for name in known_dialects() if facts_of(name).masks)


def files() -> tuple[str, ...]:
    """The dialects whose `database` is a file."""
    return tuple(name for name in known_dialects() if facts_of(name).is_file)


def dialect_of_scheme(scheme: str) -> str:
    """The dialect that the beginning of a URL means; a driver after a `+` is another program's. ValueError says what to write."""
    name = scheme.partition("+")[0].lower()
    if name in OTHERS:
        raise ValueError(f"tables are proposed of a database, and {name} is none; write the source by hand")
    return checked_dialect(next((known for known in known_dialects() if name in facts_of(known).schemes), name))


def kind_of(name: str) -> str:
    """The dialect in Dagster's words."""
    return facts_of(name).kind or name
