"""Whether any value could keep the rules of one column: what none can is a slip, and would hold every row of the table."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from incremental_assets.core.model.contract import ColumnRules, rule

BOUNDS = ("ge", "gt", "le", "lt")

Slip = tuple[str, str]
"""The rule that is to be changed, and why."""


def impassable(rules: ColumnRules) -> Slip | None:
    """Why no value can keep these rules, whose constants have one type; None where one may: `matches` is not evaluated, nor what `notin` takes from a range."""
    for name in BOUNDS:
        if (bound := getattr(rules, name)) is not None and bound != bound:
            return name, f"nothing is more or less than NaN, so that no value keeps `{name}`; write a number"
    lengths = {name: value for name in ("min_length", "max_length") if (value := getattr(rules, name)) is not None}
    if len(lengths) == 2 and rules.min_length > rules.max_length:  # type: ignore[operator]
        return "max_length", _apart("min_length", rules.min_length, "max_length", rules.max_length)
    lower, upper = _narrowest(rules, "ge", "gt", max), _narrowest(rules, "le", "lt", min)
    if lower and upper and _is_empty(lower, upper):
        return upper[0], _apart(*lower, *upper)
    if rules.isin is not None and not any(_keeps(rules, value) for value in rules.isin):
        return "isin", f"none of {rule('isin', rules.isin).partition(' ')[2]} keeps the other rules; change one of them"
    return None


def _apart(lower: str, least: Any, upper: str, most: Any) -> str:
    return (
        f"`{rule_text(lower, least)}` and `{rule_text(upper, most)}` leave no value that could pass; change one of them"
    )


def rule_text(name: str, value: Any) -> str:
    """The rule as it is written in the file."""
    return rule(name, value).replace(" ", ": ", 1)


def _narrowest(rules: ColumnRules, inclusive: str, strict: str, choose: Any) -> tuple[str, Any] | None:
    """The bound that leaves the least; of two that are equal the strict one."""
    given = [(name, value) for name in (strict, inclusive) if (value := getattr(rules, name)) is not None]
    return choose(given, key=lambda bound: bound[1]) if given else None


def _is_empty(lower: tuple[str, Any], upper: tuple[str, Any]) -> bool:
    (at_least, least), (at_most, most) = lower, upper
    step = _step(least)
    if step is not None:
        return bool(least + step * (at_least == "gt") > most - step * (at_most == "lt"))
    return bool(least > most or (least == most and (at_least, at_most) != ("ge", "le")))


def _step(value: Any) -> Any:
    """The distance from one value to the next, where there is nothing between them; None elsewhere."""
    if isinstance(value, int):
        return 1
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return timedelta(days=1) if is_day and date.min < value < date.max else None


def _keeps(rules: ColumnRules, value: Any) -> bool:
    return not (
        (rules.ge is not None and not value >= rules.ge)
        or (rules.gt is not None and not value > rules.gt)
        or (rules.le is not None and not value <= rules.le)
        or (rules.lt is not None and not value < rules.lt)
        or (rules.notin is not None and value in rules.notin)
        or (rules.min_length is not None and len(value) < rules.min_length)
        or (rules.max_length is not None and len(value) > rules.max_length)
    )
