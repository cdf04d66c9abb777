"""The rules of `alerts` in a hurry: what is a minute there is a second here, so that a game is played in a minute. Expressions, labels and texts stay as they are."""

from __future__ import annotations

import re
from typing import Any

from incremental_assets.cli.commands.alerts import rules
from incremental_assets.core.model.duration import format_duration, parse_duration

TIMES = 60
_WINDOW = re.compile(r"\[(\w+)\]")
_AGE = re.compile(r"(?<=> )(?:\d+ \* )?\d{4,}(?= |$)(?! \^)")
_BYTES = "1024 ^ 3"


def hurried() -> dict[str, Any]:
    """A file of rules."""
    document = rules("docs/runbooks")
    for group in document["groups"]:
        group["interval"] = "1s"
        for rule in group["rules"]:
            rule["expr"] = shortened(rule["expr"])
            if "for" in rule:
                rule["for"] = _seconds(rule["for"])
    return document


def shortened(expression: str) -> str:
    """Windows and ages; and bytes in place of thousands, as nobody writes gigabytes in a game."""
    expression = _WINDOW.sub(lambda found: f"[{_seconds(found[1])}]", expression)
    expression = _AGE.sub(lambda found: f"{found[0]} / {TIMES}", expression)
    return expression.replace(_BYTES, "1024 ^ 2")


def _seconds(duration: str) -> str:
    return format_duration(parse_duration(duration) / TIMES)
