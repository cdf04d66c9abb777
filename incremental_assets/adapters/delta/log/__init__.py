"""Delta's log, read without Spark: what the versions of a table hold, and what their commits say."""
