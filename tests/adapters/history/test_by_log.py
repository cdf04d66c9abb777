"""What a task makes of changes that a source's log has: every version, in its turn, as the rule says row by row."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.delta.history import log_task
from incremental_assets.adapters.delta.history.unit import Changes, Followed
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import IS_GONE, SINCE
from tests.adapters.history.test_task import CLOCK, NAMES, Pair, micros, text
from tests.fakes.history import Version, overlaps

TYPES = ("bigint", "string", "double", "date", "timestamp")


@dataclass(frozen=True)
class Told:
    """What became of a row: `row` None where it is gone; `minutes` after the clock its transaction was committed."""

    key: int
    row: tuple[Any, ...] | None
    minutes: float


def ruled(versions: list[Version], told: Told, seq: int) -> list[Version]:
    """The versions of a key after one more change."""
    newest = versions[-1] if versions else None
    was_there, values = newest is not None and not newest.gone, None
    if told.row is not None:
        values = dict(zip(NAMES, (told.key, *told.row), strict=True))
    if values is None and (newest is None or not was_there):
        return versions
    if values is not None and was_there and newest is not None and repr(newest.row) == repr(values):
        return versions
    begins = CLOCK + timedelta(minutes=told.minutes)
    if newest is not None:
        begins = max(begins, newest.begins + timedelta(microseconds=1))
        versions = [*versions[:-1], replace(newest, ends=begins)]
    row = newest.row if values is None and newest is not None else values
    assert row is not None
    return [*versions, Version(row, seq, begins, gone=values is None)]


@dataclass
class Logged(Pair):
    """A history that is fed by changes alone."""

    seq: int = 0
    rule: dict[object, list[Version]] = field(default_factory=dict)

    def follow(self, changes: list[Told]) -> Followed:
        """One batch of them, in their order."""
        self.seq += 1
        self.copy.seq = self.history.seq = self.seq
        path = self.folder / "changes"
        empty: tuple[Any, ...] = (None,) * (len(NAMES) - 1)
        rows = [(each.key, *(each.row or empty)) for each in changes]
        columns = [pa.array([row[place] for row in rows], required_type(kind)) for place, kind in enumerate(TYPES)]
        since = pa.array([micros(CLOCK) + round(each.minutes * 60_000_000) for each in changes])
        own = {SINCE: since.cast(required_type("timestamp")), IS_GONE: pa.array([each.row is None for each in changes])}
        names = [f"c{place}" for place in range(len(columns))]
        pq.write_table(pa.table([*columns, *own.values()], [*names, *own]), path)
        unit = self.unit()
        told = Changes(str(path), path.stat().st_size, tuple(range(len(columns))))
        done = log_task.apply(replace(unit, batch=replace(unit.batch, files=(), changes=told)))
        self.history.commit(self.history.version + 1, done)
        for each in changes:
            found = ruled(self.rule.get(each.key, []), each, self.seq)
            if found:
                self.rule[each.key] = found
        return done


def any_course_of_changes(folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    pair = Logged(folder)
    minute = 0.0
    for _ in range(8):
        changes = []
        for _ in range(dice.randint(0, 40)):
            # Some in one transaction, and now and then the clock is put back.
            minute += dice.choice([0, 0, 1, 1, 1, -3])
            row = (
                dice.choice(["a", "b", None]),
                dice.choice([None, 0.0, -0.0, float("nan")]),
                None,
                dice.choice([None, CLOCK]),
            )
            changes.append(Told(dice.randint(1, 9), None if dice.random() < 0.3 else row, minute))
        before = {key: len(versions) for key, versions in pair.rule.items()}
        done = pair.follow(changes)
        added = [each for key, versions in pair.rule.items() for each in versions[before.get(key, 0) :]]
        assert done.added == sum(not each.gone for each in added)
        assert done.deleted == sum(each.gone for each in added)
        found = pair.versions()
        assert text(found) == text(pair.rule)
        assert not any(overlaps(versions) for versions in found.values())


@pytest.mark.acceptance
@pytest.mark.parametrize("seed", range(12))
def test_any_course_of_changes_leaves_the_versions_of_the_rule(tmp_path: Path, seed: int) -> None:
    any_course_of_changes(tmp_path, seed)


def test_a_version_that_was_there_ends_once_however_many_follow(tmp_path: Path) -> None:
    pair = Logged(tmp_path)
    pair.follow([Told(1, ("a", None, None, None), 0), Told(2, ("a", None, None, None), 0)])
    done = pair.follow([Told(1, (note, None, None, None), 1) for note in "bcd"])
    assert (done.added, done.deleted, done.ended) == (3, 0, 1)
    assert [(each.row["note"], each.seq) for each in pair.versions()[1]] == [("a", 1), ("b", 2), ("c", 2), ("d", 2)]
    assert pair.follow([Told(3, None, 2)]).added == 0


def _gone_at_the_end(patch: pytest.MonkeyPatch) -> None:
    chained = log_task._chain

    def chain(*of: Any) -> log_task._Chain:
        found = chained(*of)
        is_last = np.concatenate([found.lane[1:] != found.lane[:-1], [True]])
        return replace(found, gone=found.gone & is_last)

    patch.setattr(log_task, "_chain", chain)


VARIANTS: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "versions of one transaction begin at once": lambda patch: patch.setattr(
        log_task, "_begins", lambda lanes, since, begun: np.maximum(since, begun[lanes] + 1)
    ),
    "a version begins when its row says, whatever began before it": lambda patch: patch.setattr(
        log_task, "_begun", lambda unit, held, lanes: np.full(lanes, -(2**62))
    ),
    "every change is a version": lambda patch: patch.setattr(
        log_task, "_is_new", lambda unit, chain, source: source >= 0
    ),
    "a row that is gone has no values": lambda patch: patch.setattr(
        log_task, "_sources", lambda chain: np.arange(len(chain.lane)) + len(chain.values) - len(chain.lane)
    ),
    "a row that is gone for a moment was there all the time": _gone_at_the_end,
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_known_bad_variant_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    VARIANTS[name](monkeypatch)
    with pytest.raises((AssertionError, IndexError)):
        any_course_of_changes(tmp_path, 1)
