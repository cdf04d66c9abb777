"""One sync from start to end, and what belongs to it: recovery, reset, pending tables, compaction."""
