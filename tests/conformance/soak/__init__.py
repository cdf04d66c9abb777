"""Rows live under load while syncs are killed and everything that can make a stamp older than it looks is done to the source."""
