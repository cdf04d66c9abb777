"""Metrics as text that Prometheus reads, version 0.0.4 of its format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "incremental_assets_"


class Kind(StrEnum):
    """What a metric is to Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


Sample = tuple[str, str]
"""What follows the name (`{source="shop"}`, or `_count{…}` of a histogram), and the value."""


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one metric."""

    name: str
    """Without the prefix."""
    kind: Kind
    help: str
    """One line, without a backslash."""
    samples: Sequence[Sample]


def text_of(families: Iterable[Family]) -> str:
    """One text; a metric without a sample is left out."""
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        name = PREFIX + family.name
        lines += (f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}")
        lines += [f"{name}{labels} {value}" for labels, value in family.samples]
    return "\n".join(lines) + "\n"


def pairs(**labels: str) -> str:
    """Labels and their values, as they stand between the braces."""
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def stamp(moment: datetime) -> str:
    """Seconds since 1970."""
    return f"{moment.timestamp():.3f}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
