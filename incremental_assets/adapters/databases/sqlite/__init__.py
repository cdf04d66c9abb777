"""SQLite: a file, one writer at a time, and values that need not be of the type which their column declares."""
