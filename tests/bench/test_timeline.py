"""The profile's clocks: every second belongs to one part, and every part is one that the product has."""

from __future__ import annotations

import importlib
from functools import reduce

import pytest

from bench import timeline
from bench.timeline import PARTS, SESSIONS, SYNC, Timeline


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(timeline, "monotonic", lambda: now[0])
    return now


def test_time_counts_for_the_innermost_part_that_is_open(clock: list[float]) -> None:
    line = Timeline(99.5)
    outer = line.enter("outer")
    clock[0] += 1
    with line.part("inner"):
        clock[0] += 2
    clock[0] += 4
    line.leave(outer)
    assert line.spans == {"Python starts": 0.5, "outer": 5.0, "inner": 2.0}


def test_a_part_that_another_thread_leaves_first_takes_nothing_from_the_one_above_it(clock: list[float]) -> None:
    line = Timeline(100.0)
    below, above = line.enter("below"), line.enter("above")
    line.leave(below)
    clock[0] += 3
    line.leave(above)
    assert line.spans["above"] == 3.0
    assert sum(line.spans.values()) == 3.0


@pytest.mark.parametrize(("module", "name"), [*(part[:2] for part in PARTS), *SESSIONS, SYNC])
def test_the_product_has_every_part_that_is_timed(module: str, name: str) -> None:
    assert callable(reduce(getattr, name.split("."), importlib.import_module(module)))
