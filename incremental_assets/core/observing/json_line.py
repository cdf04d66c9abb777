"""A line of a log in JSON, as collectors of logs read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How much a line matters, as collectors name it."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def json_line(level: Level, event: str, message: str, fields: Mapping[str, Any]) -> str:
    """One object, now, without the end of the line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"time": now, "level": level, "event": event, "message": message, **fields}, ensure_ascii=False)
