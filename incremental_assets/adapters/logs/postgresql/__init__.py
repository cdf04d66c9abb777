"""PostgreSQL's logical log: read by a replication slot, decoded into Arrow, kept as durable segments, from which tables land."""
