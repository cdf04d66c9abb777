"""What of a database of PostgreSQL writes rows of a table beside its own defaults and triggers: triggers of any table, rules, and defaults of views. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from incremental_assets.adapters.databases.postgresql.encodings import ANY_BYTES, legible, not_utf8, shown
from incremental_assets.adapters.databases.postgresql.stamps.expression import read_expression
from incremental_assets.adapters.databases.stamps.brought import brings, in_that_zone
from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.tokens import Kind, NotRead, Token, Words, tokens

NOT_READ = "\\\\"
"""Stands for a body whose bytes are no text that we could read: nothing is concluded from it."""


def or_else(text: str, instead: str) -> str:
    """A text of the catalogue, or another one where its bytes are no UTF-8."""
    return f"CASE WHEN getdatabaseencoding() = '{ANY_BYTES}' AND {not_utf8(ANY_BYTES, text)} THEN '{instead}' ELSE {text} END"


# Who else writes rows: a function of any trigger, whose body names the table; a rule that names one of its columns; a view through which rows are inserted, by a default of its own.
BESIDE = f"""
SELECT 'trigger', 0::bigint, {shown("t.tgname")}, {or_else("p.prosrc", NOT_READ)}
FROM (SELECT DISTINCT ON (tgfoid) tgfoid, tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') ORDER BY tgfoid, tgname) AS t
JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_language AS l ON l.oid = p.prolang WHERE l.lanname = 'plpgsql'
UNION ALL SELECT DISTINCT 'rule', d.refobjid::bigint, {shown("w.rulename")}, {legible("pg_get_ruledef(w.oid)")}
FROM pg_rewrite AS w JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
WHERE w.ev_type <> '1' AND w.ev_enabled IN ('O', 'A') AND d.refobjid = ANY($1::oid[])
UNION ALL SELECT DISTINCT 'view', d.refobjid::bigint, {shown("v.relname")}, {legible("pg_get_expr(e.adbin, e.adrelid)")}
FROM pg_attrdef AS e JOIN pg_class AS v ON v.oid = e.adrelid AND v.relkind = 'v' JOIN pg_rewrite AS w ON w.ev_class = v.oid AND w.ev_type = '1'
JOIN pg_attribute AS a ON a.attrelid = v.oid AND a.attnum = e.adnum JOIN pg_type AS y ON y.oid = a.atttypid AND y.typcategory = 'D'
JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass WHERE d.refobjid = ANY($1::oid[])
UNION ALL SELECT 'name', c.oid::bigint, {shown("c.relname")}, '' FROM pg_class AS c WHERE c.oid = ANY($1::oid[])
"""

_Named = tuple[str, str, str]
"""A kind, a name, and a text."""


@dataclass(frozen=True, slots=True)
class Beside:
    """All of them, as the catalogue lists them."""

    names: Mapping[int, str]
    writers: Sequence[_Named]
    """Functions of triggers, of whatever table."""
    of_tables: Mapping[int, Sequence[_Named]]
    """Rules and views that depend on a table, by its number."""

    @classmethod
    def of(cls, found: Iterable[tuple[str, int, str, str]]) -> Beside:
        """From the rows of the catalogue."""
        names, writers, of_tables = dict[int, str](), list[_Named](), defaultdict[int, list[_Named]](list)
        for kind, oid, name, text in found:
            if kind == "name":
                names[oid] = name
            elif kind == "trigger":
                writers.append((kind, name, text))
            else:
                of_tables[oid].append((kind, name, text))
        return cls(names, writers, of_tables)

    def brings(self, oid: int, column: str, zone: str) -> str:
        """Why a row of a table may have another stamp than its own default and triggers give, in their zone; empty if nothing shows it."""
        table = self.names.get(oid, "")
        for kind, name, text in (*self.writers, *self.of_tables.get(oid, ())):
            if (kind == "view" and not _is_now(text, zone)) or (kind != "view" and _brings(text, table, column, zone)):
                writes = (
                    "in which rows are inserted by a default of its own"
                    if kind == "view"
                    else "which writes rows of the table"
                )
                return f"the {kind} {name}, {writes}, may give {column!r} another value than the database's own time"
        return ""


@lru_cache(maxsize=1024)
def _tokens(text: str) -> tuple[tuple[Token, ...], frozenset[str]]:
    try:
        found = tokens(text)
    except NotRead:
        # Nothing is concluded from what is not read.
        found = ()
    return found, frozenset(each.text.lower() for each in found if each.kind is Kind.NAME)


def _brings(text: str, table: str, column: str, zone: str) -> bool:
    found, names = _tokens(text)
    return table.lower() in names and brings(found, table, column, partial(_read, zone=zone))


def _is_now(text: str, zone: str) -> bool:
    try:
        return not _read(tokens(text), zone).cuts
    except NotRead:
        return False


def _read(value: Sequence[Token], zone: str) -> Reading:
    words = Words(value)
    found = read_expression(words)
    words.end()
    return in_that_zone(found, zone)
