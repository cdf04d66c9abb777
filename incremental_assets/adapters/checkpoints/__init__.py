"""The checkpoint table: SQLite, or PostgreSQL by URL."""
