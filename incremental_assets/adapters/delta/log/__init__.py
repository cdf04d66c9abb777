"""Delta's log, read and written without Spark: what the versions of a table hold, what their commits say, and how one is put there."""
