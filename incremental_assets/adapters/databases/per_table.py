"""Work for one table after the other: one that fails does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from incremental_assets.core.model.table import TableSpec

_log = logging.getLogger(__name__)
_Found = TypeVar("_Found")


def answer_or_none(spec: TableSpec, work: Callable[[], _Found]) -> _Found | None:
    """What came of it, or nothing where that failed: the table's own sync meets the error again and says it."""
    try:
        return work()
    except Exception:  # noqa: BLE001 - whatever it was
        _log.debug("%s: left out of a look", spec.id, exc_info=True)
        return None


def for_each_table(
    specs: Mapping[int, TableSpec], ask: Callable[[int], tuple[_Found]], *, alone: bool
) -> dict[int, _Found]:
    """The answers by number. Of several tables, one that fails is left out; one that is asked `alone` raises its error."""
    found: dict[int, _Found] = {}
    for index, spec in specs.items():
        answer = ask(index) if alone else answer_or_none(spec, partial(ask, index))
        found |= {index: answer[0]} if answer else {}
    return found
