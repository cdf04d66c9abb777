"""Versions that ended before a moment leave a history, and no question about that moment or a later one has another answer."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.forgetting import forgetting, task
from incremental_assets.adapters.delta.tasks.forgetting.forgetting import Forgetting
from incremental_assets.adapters.delta.tasks.forgetting.unit import Closed, Old
from incremental_assets.core.errors import Overtaken
from incremental_assets.core.planning.plan import CommitIds
from tests.adapters.batches import ORDERS
from tests.adapters.history.test_task import CLOCK, Pair, micros, text
from tests.adapters.quarantine.offline import Here
from tests.fakes.history import Version, overlaps


def forget(pair: Pair, hours: float, meanwhile: Callable[[], object] = lambda: None) -> int:
    """Versions that ended before so many hours after the clock go."""
    before = CLOCK + timedelta(hours=hours)
    ends, begins, gone = (
        Stored(*each)
        for each in (("_valid_to", "timestamp"), ("_valid_from", "timestamp"), ("_sync_deleted", "boolean"))
    )
    note = CommitMetadata.of_maintenance(CommitIds("app", 1, uuid.uuid4().hex), "run", None, pair.history.version)

    class Tasks(Here):
        def run_all(self, module: str, units: Any) -> list[Any]:
            done = super().run_all(module, units)
            meanwhile()
            return done

    tasks: Any = Tasks()
    work = Forgetting(
        ORDERS, str(pair.history.path), note, "old", Old(micros(before), begins, Closed(ends, gone, begins))
    )
    return forgetting.forget(tasks, work)


def as_of(versions: dict[object, list[Version]], moment: datetime) -> list[str]:
    """What every row was then."""
    return sorted(
        repr(each.row)
        for found in versions.values()
        for each in found
        if each.begins <= moment and (each.ends is None or each.ends > moment) and not each.gone
    )


def is_old(version: Version, before: datetime) -> bool:
    return version.ends < before if version.ends else version.gone and version.begins < before


def told(pair: Pair) -> str:
    """All bytes of all values in the files that the log names."""
    files = [pair.history.path / add["path"] for add in pair.history.state.files.values()]
    return repr([pq.read_table(file).to_pylist() for file in files])


def row(key: int, note: str) -> tuple[object, ...]:
    return (key, note, None, None, None)


def a_day(pair: Pair) -> None:
    """One row changes twice, one goes, one stays as it is."""
    pair.land([row(1, "first"), row(2, "leaves"), row(3, "stays")])
    pair.land([row(1, "second")])
    pair.land([row(1, "third")], gone=[2])
    pair.land([row(4, "late")])


def test_what_ended_before_goes_and_what_was_valid_then_or_is_stays(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    a_day(pair)
    assert forget(pair, 2.5) == 1
    found = pair.versions()
    assert {key: [each.row["note"] for each in versions] for key, versions in found.items()} == {
        1: ["second", "third"], 2: ["leaves", "leaves"], 3: ["stays"], 4: ["late"]
    }  # fmt: skip
    assert forget(pair, 2.5) == 0


def test_a_row_that_was_gone_by_then_is_forgotten_with_its_values(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    a_day(pair)
    assert "leaves" in told(pair)
    assert forget(pair, 9) == 4
    assert sorted(pair.versions()) == [1, 3, 4]
    assert "leaves" not in told(pair)
    assert "second" not in told(pair)


def test_with_nothing_that_is_old_nothing_is_committed(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    a_day(pair)
    version, files = pair.history.version, pair.history.files()
    assert forget(pair, 1) == 0
    assert (pair.history.version, pair.history.files()) == (version, files)


def test_where_another_writer_was_first_nothing_goes_and_no_file_is_left(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    a_day(pair)
    files = pair.history.files()
    with pytest.raises(Overtaken):
        forget(pair, 9, meanwhile=lambda: pair.land([row(5, "meanwhile")]))
    assert len(pair.versions()) == 5
    assert len(pair.history.files() - files) == 1, "that of the other writer"


@pytest.mark.parametrize("seed", range(4))
def test_any_course_of_batches_answers_later_questions_as_before_and_goes_on_by_the_rule(
    tmp_path: Path, seed: int
) -> None:
    dice, pair = random.Random(seed), Pair(tmp_path)

    def some() -> None:
        for number in range(5):
            keys = dice.sample(range(8), dice.randint(1, 5))
            gone = keys[:1] if number and dice.random() < 0.6 else []
            pair.land([row(key, dice.choice("abc")) for key in keys[len(gone) :]], gone, whole=dice.random() < 0.3)

    some()
    asked = pair.versions()
    hours = dice.choice([2.5, 3.5, 5.5])
    before = CLOCK + timedelta(hours=hours)
    expected = sum(is_old(each, before) for versions in asked.values() for each in versions)
    assert forget(pair, hours) == expected
    left = pair.versions()
    for later in range(10):
        moment = before + timedelta(minutes=30 * later)
        assert as_of(left, moment) == as_of(asked, moment)
    kept = {key: [each for each in versions if not is_old(each, before)] for key, versions in pair.rule.items()}
    pair.rule = {key: versions for key, versions in kept.items() if versions}
    assert text(left) == text(pair.rule)
    some()
    assert text(pair.versions()) == text(pair.rule)
    assert not any(overlaps(versions) for versions in pair.versions().values())


VARIANTS: dict[str, tuple[str, object]] = {
    "what ends at all is old": ("_earlier", lambda moments, _: moments.is_valid().to_numpy()),
    "nothing is old": ("_closed", lambda *given: ~given[2].alive & given[2].alive),
    "a row that is gone keeps its last values": (
        "_closed",
        lambda old, of, group: task._earlier(task._one(group, of.ends), old.before),
    ),
    "what is only marked stays where it is": ("_holds_marked", lambda *_: False),
}


def stories(folder: Path) -> None:
    for number, story in enumerate(
        (
            test_what_ended_before_goes_and_what_was_valid_then_or_is_stays,
            test_a_row_that_was_gone_by_then_is_forgotten_with_its_values,
        )
    ):
        (folder / str(number)).mkdir()
        story(folder / str(number))


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_known_bad_variant_is_found(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, *VARIANTS[variant])
    with pytest.raises(AssertionError):
        stories(tmp_path)
