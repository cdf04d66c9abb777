"""Typed configuration that opens engine objects: the only place that reads secrets, and the one where a session begins."""
