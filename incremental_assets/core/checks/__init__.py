"""Freshness, duplicates, reconciliation, schema, contract, history: the queries and the verdicts."""
