"""Every variable of a MariaDB or MySQL that can be set while it runs, and the values at its ends, as the server itself tells them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Ask = Callable[[str], Sequence[tuple[Any, ...]]]

_MARIADB = """
SELECT LOWER(variable_name), COALESCE(global_value, ''), variable_type, numeric_min_value, numeric_max_value, COALESCE(enum_value_list, '')
FROM information_schema.system_variables WHERE variable_scope IN ('SESSION', 'GLOBAL') AND read_only = 'NO' ORDER BY variable_name
"""
_MYSQL = """
SELECT s.variable_name, COALESCE(g.variable_value, ''), i.min_value, i.max_value FROM performance_schema.session_variables AS s
JOIN performance_schema.global_variables AS g USING (variable_name) JOIN performance_schema.variables_info AS i USING (variable_name) ORDER BY 1
"""
_MOST = 1 << 26
"""No buffer is asked to be larger."""


def ends(title: str, ask: Ask) -> Mapping[str, tuple[str, ...]]:
    """By variable the values to try, in SQL; none of one whose ends the server does not tell."""
    found = _of_mariadb(ask) if title == "MariaDB" else _of_mysql(ask)
    return {name: values for name, values in found if values}


def _of_mariadb(ask: Ask) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, value, kind, least, most, words in ask(_MARIADB):
        choices = words.split(",")
        if kind == "FLAGSET":
            yield name, tuple(f"'{each}={state}'" for each in choices if each != "default" for state in ("on", "off"))
        elif kind in ("ENUM", "SET", "BOOLEAN") and words:
            yield name, tuple(f"'{each}'" for each in choices if each != value)
        elif least is not None and most is not None:
            yield name, _numbers(float(least), float(most), float(value or 0))


def _of_mysql(ask: Ask) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, value, least, most in ask(_MYSQL):
        if value in ("ON", "OFF"):
            yield name, ("OFF" if value == "ON" else "ON",)
        elif "=" in value:
            flags = [each.partition("=")[0] for each in value.split(",")]
            yield name, tuple(f"'{each}={state}'" for each in flags for state in ("on", "off"))
        elif int(most):
            yield name, _numbers(float(least), float(most), float(value))
        else:
            # Of the others the server tells no list: their first few, by number.
            yield name, ("0", "1", "2", "3")


def _numbers(least: float, most: float, value: float) -> tuple[str, ...]:
    return tuple(
        f"{int(each)}" for each in dict.fromkeys((least, min(most, _MOST, max(2 * value, 10)))) if each != value
    )
