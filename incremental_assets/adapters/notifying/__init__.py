"""Channels that are notified of incidents: one message by a library that knows the services, in the background."""
