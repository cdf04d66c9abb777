"""What a task writes for one batch: the versions of the rule, without Spark."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.delta.history.by_tasks import _refused_as_large, moved
from incremental_assets.adapters.delta.history.task import apply
from incremental_assets.adapters.delta.history.unit import Batch, Followed, HistoryUnit, OwnColumns
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.files.unit import Marks, Replacing, Stored
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from tests.adapters.tasks.tables import GONE, OWN, Table
from tests.fakes.history import Seen, Version, followed, overlaps

ROWS = "id bigint, note string, price double, day date, changed timestamp"
VALIDITY = ", _valid_from timestamp, _valid_to timestamp, _is_current boolean"
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
RUN, SEQ, AT = OWN
NAMES = ("id", "note", "price", "day", "changed")


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@dataclass
class Pair:
    """A copy, its history, and the rule; each batch an hour after the one before."""

    folder: Path
    keeps_validity: bool = True
    flags: bool = False
    rule: dict[object, list[Version]] = field(default_factory=dict)
    since: dict[object, datetime] = field(default_factory=dict)
    """When a row was marked as gone."""

    def __post_init__(self) -> None:
        for name in ("copy", "history"):
            (self.folder / name).mkdir()
        self.copy = Table(self.folder / "copy", ROWS, flags=self.flags)
        validity = VALIDITY if self.keeps_validity else ""
        self.history = Table(self.folder / "history", f"{ROWS}{validity}, _sync_deleted boolean")

    @property
    def clock(self) -> datetime:
        return CLOCK + timedelta(hours=self.copy.seq)

    def land(self, rows: list[tuple[Any, ...]], gone: list[int] | None = None, *, whole: bool = False) -> Followed:
        """One batch of the copy, and what the task makes of it; `whole`: rows that stay are written along. A copy that `flags` rows has seen half an hour ago that they are gone."""
        before, leaving = self.copy.state, [(key, None, None, None, None) for key in gone or ()]
        how = Replacing((0,), compares=True, leaves=bool(leaving), whole=whole and not leaving)
        since = self.clock + timedelta(minutes=30) if self.flags else None
        if since is not None and leaving:
            how = replace(how, flagged_at=micros(since))
        self.copy.land(how, rows, leaving)
        self.history.seq = self.copy.seq
        done = apply(self.unit(before if leaving and (not self.flags or self.copy.seq % 2) else None))
        self.history.commit(self.history.version + 1, done)
        for key in {*(gone or ())} & {*self.rule}:
            seen = Seen(self.rule[key][-1].row if self.flags else None, since, gone=True)
            self.rule[key] = followed(self.rule[key], seen, self.copy.seq, self.clock)
        for row in rows:
            seen = Seen(dict(zip(NAMES, row, strict=True)), row[4])
            self.rule[row[0]] = followed(self.rule.get(row[0], ()), seen, self.copy.seq, self.clock)
        return done

    def compare(self) -> Followed:
        """What the task makes of the copy as it is, of which the history has missed some batches."""
        self.history.seq = self.copy.seq
        done = apply(self.unit(whole=True))
        self.history.commit(self.history.version + 1, done)
        there = {
            row[0]: Seen(dict(zip(NAMES, row, strict=True)), self.since.get(row[0], row[4]), gone)
            for row, gone in self.rows()
        }
        for key in {*self.rule, *there}:
            seen = there.get(key, Seen(None))
            self.rule[key] = followed(self.rule.get(key, ()), seen, self.copy.seq, self.clock)
        return done

    def rows(self) -> list[tuple[tuple[Any, ...], bool]]:
        """The copy's, and whether each is marked as gone."""
        told = self.copy.read_flagged() if self.flags else [(row, False) for row in self.copy.read()]
        return [(tuple(map(in_utc, row[: len(NAMES)])), gone) for row, gone in told]

    def miss(self, rows: list[tuple[Any, ...]], gone: list[int]) -> None:
        """A batch that the history does not follow."""
        leaving = [(key, None, None, None, None) for key in gone]
        how = Replacing((0,), compares=True, leaves=bool(leaving))
        if self.flags and leaving:
            how = replace(how, flagged_at=micros(self.clock + timedelta(minutes=30)))
        for key in gone:
            # One that is marked already keeps its moment.
            self.since.setdefault(key, self.clock + timedelta(minutes=30))
        for row in rows:
            self.since.pop(row[0], None)
        self.copy.land(how, rows, leaving)

    def unit(self, before: LogState | None = None, *, whole: bool = False) -> HistoryUnit:
        """`before`: the copy before rows went."""
        touched, new = moved(before.files, self.copy.state.files) if before else moved({}, {})
        columns, own = self.copy.columns, self.history.columns[len(NAMES) :]
        validity = (
            dict(zip(("valid_from", "valid_to", "is_current"), own[:3], strict=True)) if self.keeps_validity else {}
        )
        return HistoryUnit(
            table=str(self.history.path),
            batch=Batch(
                str(self.copy.path),
                columns,
                SEQ,
                self.copy.seq,
                tuple(self.copy.state.files.values()),
                (4,),
                touched,
                new,
                whole,
                GONE if self.flags else None,
            ),
            columns=columns,
            own=OwnColumns(own[-1], RUN, SEQ, AT, **validity),
            key=(0,),
            files=tuple(self.history.state.files.values()),
            statistics=tuple(each.name for each in (*columns, *own, *OWN) if each.type != "boolean"),
            clock=micros(self.clock),
            marks=Marks("run", self.copy.seq, micros(self.clock), OWN),
        )

    def versions(self) -> dict[object, list[Version]]:
        found: dict[object, list[Version]] = {}
        columns = (*self.history.columns, Stored("_sync_seq", "bigint"))
        for told in read(self.history, columns):
            row = {name: told[name] for name in NAMES}
            begins = told.get("_valid_from") or CLOCK
            version = Version(row, told["_sync_seq"], begins, told.get("_valid_to"), told["_sync_deleted"])
            assert told.get("_is_current", version.is_current) is version.is_current
            found.setdefault(told["id"], []).append(version)
        return {key: sorted(each, key=lambda version: (version.seq, version.begins)) for key, each in found.items()}


def in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def read(table: Table, columns: tuple[Stored, ...]) -> list[dict[str, Any]]:
    table.columns = columns
    try:
        rows = [
            [value.astimezone(UTC) if isinstance(value, datetime) else value for value in row] for row in table.read()
        ]
        return [dict(zip((each.name for each in columns), row, strict=True)) for row in rows]
    finally:
        table.columns = columns[:-1]


def text(versions: dict[object, list[Version]]) -> str:
    """-0.0 and 0.0 are two values."""
    return repr(sorted(versions.items(), key=repr))


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "seed", [*range(9), *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in range(9, 24))]
)
def test_any_course_of_batches_leaves_the_versions_of_the_rule(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    pair = Pair(tmp_path, keeps_validity=seed % 3 != 0, flags=seed % 2 == 1)
    days = [None, datetime(2024, 2, 29).date()]  # noqa: DTZ001 - a day has no zone
    for number in range(10):
        keys = dice.sample(range(15), dice.randint(1, 10))
        gone = keys[: len(keys) // 3] if number and dice.random() < 0.5 else []
        pair.land(
            [
                (
                    key,
                    dice.choice(["a", "b", None]),
                    dice.choice([None, 0.0, -0.0, float("nan")]),
                    dice.choice(days),
                    dice.choice([None, CLOCK + timedelta(minutes=dice.randint(-60, 700))]),
                )
                for key in keys[len(gone) :]
            ],
            gone,
            whole=dice.random() < 0.2,
        )
    found = pair.versions()
    if pair.keeps_validity:
        assert text(found) == text(pair.rule)
        assert not any(overlaps(versions) for versions in found.values())
    else:
        told = [
            {key: [(each.row, each.seq, each.gone) for each in of] for key, of in side.items()}
            for side in (found, pair.rule)
        ]
        assert repr(sorted(told[0].items())) == repr(sorted(told[1].items()))


def rows_of(dice: random.Random, keys: list[int]) -> list[tuple[Any, ...]]:
    """With few values, so that some stay as they were."""
    return [
        (
            key,
            dice.choice(["a", "b", None]),
            dice.choice([None, 0.0, -0.0, float("nan")]),
            None,
            dice.choice([None, CLOCK + timedelta(minutes=dice.randint(-60, 700))]),
        )
        for key in keys
    ]


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in range(4, 24))]
)
def test_a_history_that_has_missed_batches_has_the_versions_of_the_rule_once_the_copy_is_compared(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    pair = Pair(tmp_path, keeps_validity=seed % 3 != 0, flags=seed % 2 == 1)
    pair.land(rows_of(dice, list(range(6))))
    for _ in range(4):
        for _ in range(dice.randint(1, 3)):
            keys = dice.sample(range(12), dice.randint(1, 8))
            cut = dice.randint(0, len(keys) // 2)
            pair.miss(rows_of(dice, keys[cut:]), keys[:cut])
        pair.compare()
        assert pair.compare() == Followed() or not pair.keeps_validity
    found = pair.versions()
    if pair.keeps_validity:
        assert text(found) == text(pair.rule)
        assert not any(overlaps(versions) for versions in found.values())
    else:
        told = [
            {key: [(each.row, each.seq, each.gone) for each in of] for key, of in side.items()}
            for side in (found, pair.rule)
        ]
        assert repr(sorted(told[0].items())) == repr(sorted(told[1].items()))


def test_a_large_copy_is_compared_by_spark_where_it_may_commit() -> None:
    half = LogState(7, files={"a": {"size": 32 * 2**20}})
    assert _refused_as_large(half, half) == ""
    assert "the whole copy is compared" in _refused_as_large(half, replace(half, files={"b": {"size": 32 * 2**20 + 1}}))


def test_versions_that_have_ended_keep_the_run_that_brought_them_and_files_of_such_alone_are_not_read(
    tmp_path: Path,
) -> None:
    pair = Pair(tmp_path)
    pair.land([(1, "a", None, None, None), (2, "a", None, None, None)])
    done = pair.land([(1, "b", None, None, None)])
    assert (done.added, done.deleted, done.ended) == (1, 0, 1)
    assert [each.seq for each in pair.versions()[1]] == [1, 2]
    assert pair.land([(1, "b", None, None, None)]) == Followed()


def test_a_key_with_two_newest_versions_is_left_to_spark(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    first = pair.land([(1, "a", None, None, None)])
    (add,) = (each["add"] for each in first.actions)
    pair.history.commit(pair.history.version + 1, Followed(({"add": {**add, "path": twin(pair, add)}},)))  # type: ignore[arg-type]
    pair.copy.land(Replacing((0,), compares=True), [(1, "b", None, None, None)])
    with pytest.raises(NotByTasks, match="two versions"):
        apply(pair.unit())


def twin(pair: Pair, add: dict[str, Any]) -> str:
    """The same file again, under another name."""
    (pair.history.path / "twin.parquet").write_bytes((pair.history.path / add["path"]).read_bytes())
    return "twin.parquet"
