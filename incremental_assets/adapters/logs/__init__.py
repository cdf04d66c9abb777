"""Readers of the change logs of databases."""
