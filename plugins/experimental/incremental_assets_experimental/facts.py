"""What the configuration must know of these databases."""

from __future__ import annotations

from incremental_assets.core.config.dialects import DialectFacts

ORACLE = DialectFacts(port=1521, schema_is_user=True, numbering="ora_rowscn", compares=False)
SQLSERVER = DialectFacts(
    port=1433, schema="dbo", numbering="rowversion", compares=False, schemes=("mssql",), lineage="mssql", kind="mssql"
)
