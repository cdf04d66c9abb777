"""How a table knows what changed: one interface, and a package for each capture."""
