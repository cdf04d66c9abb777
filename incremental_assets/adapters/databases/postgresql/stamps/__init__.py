"""What stamps a column in PostgreSQL: its default, or triggers."""
