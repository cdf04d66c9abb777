"""A sources.yaml proposed from a database's catalogue: which column each table is followed by, and what would make that better. Pure."""
