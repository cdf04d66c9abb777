"""Copies, made known to data catalogues."""
