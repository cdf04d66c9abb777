"""Typed configuration that opens the adapters: the only place that reads secrets, and where a session is opened."""
