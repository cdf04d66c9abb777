"""The demo's source: a real PostgreSQL without Docker, TPC-H data in it, and a simulated day of changes."""
