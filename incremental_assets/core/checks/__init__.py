"""Freshness, duplicates, reconciliation, schema: the queries and the verdicts."""
