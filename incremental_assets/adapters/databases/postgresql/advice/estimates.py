"""What PostgreSQL's planner says of a read: EXPLAIN, which reads no row and takes no lock that a writer would notice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psycopg

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import light, one_row, raise_if_lost
from incremental_assets.adapters.databases.postgresql.fragments import BEGINS_WITH
from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan

Node = Mapping[str, Any]

_EXPLAIN = "EXPLAIN (FORMAT JSON) "
_BEGINNING = f"""
SELECT x.relname FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid AND n.nspname = $1 AND c.relname = $2
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $3
JOIN pg_index AS i ON i.indrelid = c.oid AND {BEGINS_WITH}
JOIN pg_class AS x ON x.oid = i.indexrelid ORDER BY x.relname
"""
_SCANNED = ("Seq Scan", "Foreign Scan")


def estimates(asked: Asked, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
    """One estimate per plan; a read that the planner refuses says so in its own."""
    with light(asked):
        return tuple(_estimate(asked, plan) for plan in plans)


def _estimate(asked: Asked, plan: SyncPlan) -> Estimate:
    sql = read_query(plan, 1).sql
    try:
        root = _explained(asked, sql)
        indexes, scans = _indexes(root), any(node["Node Type"] in _SCANNED for node in _nodes(root))
        if scans and plan.reading.window.lower is not None:
            # Of a small table the planner takes no index though there is one.
            indexes = indexes or _beginning_with_cursor(asked, plan.spec)
    except psycopg.Error as error:
        raise_if_lost(asked, error)
        return Estimate(sql, unknown=f"the source does not explain it ({_first_line(error)})")
    return Estimate(sql, int(root["Plan Rows"]), indexes, scans)


def _beginning_with_cursor(asked: Asked, spec: TableSpec) -> tuple[str, ...]:
    found = asked.execute(_BEGINNING, (spec.id.schema, spec.id.name, cursor_of(spec).column))
    return tuple(name for (name,) in found.fetchall())


def _explained(asked: Asked, sql: str) -> Node:
    # As it stands: a `$` or `%` in a name is no parameter.
    (found,) = one_row(asked, _EXPLAIN + sql)
    plan: Node = found[0]["Plan"]
    return plan


def _indexes(root: Node) -> tuple[str, ...]:
    """Those that find the rows; one that is only run through from end to end has no condition."""
    return tuple(dict.fromkeys(node["Index Name"] for node in _nodes(root) if "Index Cond" in node))


def _nodes(root: Node) -> Iterator[Node]:
    yield root
    for below in root.get("Plans", ()):
        yield from _nodes(below)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
