"""Incremental sync of database tables into Delta Lake, as partitioned Dagster assets."""
