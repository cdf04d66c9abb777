"""One module per database: its bound, snapshot, type table, quoting and introspection."""
