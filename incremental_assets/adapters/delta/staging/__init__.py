"""Staged batches: rows of one snapshot, written to disk and counted before the target is touched."""
