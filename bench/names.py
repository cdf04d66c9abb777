"""How the contenders are called in results, targets and the document."""

OURS = "incremental-assets"
ENGINE = "incremental-assets, engine running"
SESSION = "incremental-assets, in a session"
CHECK = "incremental-assets check"
POSTGRESQL = "PostgreSQL"
MARIADB = "MariaDB"
DLT = "dlt, connectorx"
DLT_PYARROW = "dlt, pyarrow"
DLT_FILES = "dlt, filesystem"
SLING = "sling, CSV"
SPARK_PARQUET = "Spark JDBC, Parquet"
SPARK_DELTA = "Spark JDBC, Delta"
SPARK_MERGE = "Spark MERGE"
SPARK_STREAM = "Spark structured streaming, MERGE"
COPY_NOWHERE = "COPY to nowhere"
COPY_PARQUET = "COPY, Parquet"

FIRST = (OURS, ENGINE, SESSION, CHECK, POSTGRESQL)
"""Ours, by which ratios are told: the first of these that a workload has."""


def kept(before: int) -> str:
    """Ours, so many runs after the one that found no engine and left one behind."""
    return f"{OURS}, {f'{before} after that' if before else 'leaves an engine'}"
