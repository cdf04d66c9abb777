"""Counts and hashes of a copy by Spark, in the format in which the source computes its own."""
