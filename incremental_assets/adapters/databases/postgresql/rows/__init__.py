"""Rows and keys of a snapshot: read, counted and hashed."""
