"""What Spark said of an error, whole."""

from __future__ import annotations


def words(error: BaseException) -> str:
    """Its message and what lies behind it: in a session of one's own the message holds both, a server sends them apart."""
    behind = getattr(error, "getStackTrace", None)
    return f"{error}\n{behind() or ''}" if callable(behind) else str(error)
