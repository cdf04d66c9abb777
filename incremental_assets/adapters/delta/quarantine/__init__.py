"""The quarantine by commits of our own: rows that cannot land are added to it, and those that are held no more are marked, in tasks."""
