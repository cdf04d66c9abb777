"""The story of a sync and what stands around it: recovery, reset, what has moved, compaction."""
