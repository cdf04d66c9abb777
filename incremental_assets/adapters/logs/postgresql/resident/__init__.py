"""A session of replication that stays open between ranges, in a process of its own: what the server has decoded once it need not decode again."""
