"""What stamps a column in a SQLite file: its default, or triggers."""
