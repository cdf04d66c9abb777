"""Rows of a batch against those of the target, in tasks: what is written, and what is marked as gone."""
