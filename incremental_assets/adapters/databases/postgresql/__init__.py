"""PostgreSQL 14 and later: its bound, snapshot, type table, quoting and introspection."""
