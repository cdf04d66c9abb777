"""SQLite: a file, one writer at a time, and values that may differ from the declared type of their column."""
