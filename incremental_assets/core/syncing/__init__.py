"""One sync from start to end, of one table and of many: recovery, the decision, the read, what follows it."""
