"""What the configuration of a source comes to, and what has changed of it: for the audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from typing import Any

from incremental_assets.core.config.settings import MatchConfig, SourceConfig, TableConfig
from incremental_assets.core.model.duration import format_duration

Effective = Mapping[str, str]
"""Each value by its path, such as `tables.public.orders.strategy`; what is as when absent is left out, and of a secret there is only where it is kept."""

_PLACES = frozenset({"file", "line", "lines"})
"""Where something is written changes with every line that comes before it."""
_SHOWN = 8
_GONE = "as when absent"


def effective(source: SourceConfig) -> Effective:
    """Of one source, all defaults merged."""
    return dict(_values("", source))


def difference(before: Effective, now: Effective) -> str:
    """What has changed, in one line: the first paths whole, the others counted."""
    paths = [path for path in sorted({*before, *now}) if before.get(path) != now.get(path)]
    told = [f"{path} is {now.get(path, _GONE)}, was {before.get(path, _GONE)}" for path in paths[:_SHOWN]]
    return "; ".join([*told, f"and {len(paths) - _SHOWN} more"] if len(paths) > _SHOWN else told)


def _values(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """A value that has a text of its own is one; of others each part is."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _values(_below(path, str(name)), each)
    elif isinstance(value, tuple) and any(map(_has_parts, value)):
        for number, each in enumerate(value, 1):
            yield from _values(_below(path, _name(each, number)), each)
    elif _has_parts(value):
        for each in fields(value):
            part = getattr(value, each.name)
            if each.name not in _PLACES and not _is_absent(each, part):
                yield from _values(_below(path, each.name), part)
    else:
        yield path, _text(value)


def _has_parts(value: Any) -> bool:
    return is_dataclass(value) and type(value).__str__ is object.__str__


def _name(part: Any, number: int) -> str:
    """Of a table its name, of others where they stand in their list."""
    if isinstance(part, TableConfig):
        return f"{part.schema}.{part.name}"
    return str(part.match) if isinstance(part, MatchConfig) else str(number)


def _is_absent(part: Field[Any], value: Any) -> bool:
    if part.default is not MISSING:
        return bool(value == part.default)
    return part.default_factory is not MISSING and bool(value == part.default_factory())


def _text(value: Any) -> str:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_text, value))
    if isinstance(value, AbstractSet):
        return ", ".join(sorted(map(_text, value)))
    return str(value)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
