"""What `init`, `doctor` and `plan` report of a PostgreSQL, and the cures they offer."""
