"""What `doctor` says of a table that is followed by the transactions which wrote its rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from incremental_assets.cli.findings.finding import Finding
from incremental_assets.cli.findings.of_table import of_table, wanted_of
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor, Strategy
from incremental_assets.core.model.table_shape import Arrival
from tests.scenario import orders

XMIN = Cursor("xmin", CursorType.INTEGER, by_transaction=True)
NUMBERING = Column("xmin", "xid8", "bigint", Fidelity.EXACT, nullable=False)


def test_no_index_is_looked_for_and_the_cost_is_said() -> None:
    found = orders()
    shape = replace(found.shape, numbering=NUMBERING, arrivals=(Arrival.SUBSCRIPTION,)).numbered()
    spec = replace(found, shape=shape, cursor=XMIN, lookback=0, holdback=0)
    wanted = wanted_of(spec.id, TableConfig("public", "orders", Strategy.UPSERT, replace(XMIN, column="")))
    assert wanted.cursors == (), "an index on a system column cannot be made"
    facts = TableFacts(wanted, exists=True, usable=True, readable=True)
    now = datetime(2024, 1, 31, tzinfo=UTC)
    source = SourceFacts("PostgreSQL 18.4", "reader", "UTF8", False, True, True, True, False, "UTC", now)
    said: list[Finding] = list(of_table(spec, facts, source, landed=True))
    assert [each.topic for each in said if "xmin" in each.detail] == ["index"]
    assert "every look reads the whole table, unless nothing was written in the whole server" in said[0].detail
