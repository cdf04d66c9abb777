"""What a library may have been built with, or an extension of its process has set, against a connection of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

BUILD = (
    "reverse_unordered_selects = ON",
    "case_sensitive_like = ON",
    "read_uncommitted = ON",
    "recursive_triggers = ON",
    "automatic_index = OFF",
)
_connect = sqlite3.connect


@contextmanager
def another_build() -> Iterator[None]:
    """Every connection of the block begins so."""
    with mock.patch.object(sqlite3, "connect", _of_another_build):
        yield


def _of_another_build(*where: Any, **terms: Any) -> sqlite3.Connection:
    connection = _connect(*where, **terms)
    for setting in BUILD:
        connection.execute(f"PRAGMA {setting}")
    return connection
