"""Exporters of what happens, for those who watch many services in one place."""
