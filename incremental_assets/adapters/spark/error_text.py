"""The full message of a Spark error."""

from __future__ import annotations


def words(error: BaseException) -> str:
    """Its message and its cause: in a local session the message holds both, a server sends them apart."""
    behind = getattr(error, "getStackTrace", None)
    return f"{error}\n{behind() or ''}" if callable(behind) else str(error)
