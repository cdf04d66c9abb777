"""Counts and hashes of a copy by tasks; what tasks cannot read is left to Spark."""
