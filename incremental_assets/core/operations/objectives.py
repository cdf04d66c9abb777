"""Which objectives can raise an alert, and which never could, or always would."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.errors import Problem
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.objective import percent
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.burn_rates import PAGES


def mistakes(source: SourceConfig, terms: TableConfig) -> Iterator[Problem]:
    """Objectives by which nobody could be alerted as is meant."""
    file, line = terms.file, terms.line
    slowest = min(each.factor for each in PAGES)
    for share, words in _shares(terms):
        if fastest(share) <= slowest:
            yield Problem(
                file,
                line,
                words,
                f"a budget of {percent(1 - share)} burns at most {float(fastest(share)):.3g} times as fast as it may, and a page needs more than "
                f"{slowest:g} times; write a share above {percent(_least(slowest))}, or remove it",
            )
    found = terms.slo.freshness
    often, what = _interval(source, terms)
    if found is not None and found.within < often:
        yield Problem(
            file,
            line,
            str(found),
            f"the table is {what} every {format_duration(often)}, so that this would be missed in between; write a longer age, or have it {what} more often",
        )


def notes(table: TableId, terms: TableConfig) -> Iterator[str]:
    """Of objectives that are taken, the windows in which nothing can ever fire."""
    for share, words in _shares(terms):
        never = [each for each in PAGES if each.factor >= fastest(share)]
        yield from (
            f"{table}: {words}: its budget burns at most {float(fastest(share)):.3g} times as fast as it may, so that the page of "
            f"{format_duration(each.long)}, which needs more than {each.factor:g} times, never comes; the others do"
            for each in never
        )


def fastest(share: Decimal) -> Decimal:
    """How many times as fast as it may the budget burns, if nothing holds."""
    return 1 / (1 - share)


def _least(factor: float) -> Decimal:
    """The share above which a burn of this factor is possible, rounded up to what can be written."""
    return (1 - 1 / Decimal(str(factor))).quantize(Decimal("0.0001")) + Decimal("0.0001")


def _shares(terms: TableConfig) -> Iterator[tuple[Decimal, str]]:
    if terms.slo.freshness is not None:
        yield terms.slo.freshness.share, str(terms.slo.freshness)
    if terms.slo.success is not None:
        yield terms.slo.success, percent(terms.slo.success)


def _interval(source: SourceConfig, terms: TableConfig) -> tuple[timedelta, str]:
    """How often a table is known to be in step, at best."""
    rests = timedelta() if source.quiet is None else source.quiet.length
    if terms.interval is None:
        return max(source.every, rests), "looked at"
    return max(terms.interval, source.every, rests), "read or compared"
