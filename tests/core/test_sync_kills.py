"""Whatever moment a sync dies, errs or sleeps at, one more sync brings the target to the source: nothing lost, nothing twice, nothing left over."""

import io
import itertools
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from datetime import timedelta
from typing import Any

import pytest

from incremental_assets.core.errors import EngineLost, Overtaken
from incremental_assets.core.landing.first_load import WORTH_IT
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.core.syncing.sync_many import attempt
from tests.fakes import Killed, Process, World, ordered
from tests.scenario import ORDERS, monday, order, orders, shop

TERMS = {
    "upsert by a stamp": orders(Strategy.UPSERT),
    "append by a stamp": orders(Strategy.APPEND),
    "upsert by a sequence": orders(Strategy.UPSERT, cursor="id"),
    "append by a sequence": orders(Strategy.APPEND, cursor="id"),
    "full_refresh": orders(Strategy.FULL_REFRESH),
    "upsert, loaded directly": orders(Strategy.UPSERT, size=WORTH_IT),
    "upsert that follows deletes": orders(
        Strategy.UPSERT, deletes=Deletes(DeleteMode.DIFF, every=timedelta(), max_fraction=0.9)
    ),
    "upsert with history": orders(Strategy.UPSERT, history=History.SCD2),
    "upsert with history, loaded directly": orders(Strategy.UPSERT, size=WORTH_IT, history=History.SCD2),
    "upsert that follows deletes, with history": orders(
        Strategy.UPSERT, deletes=Deletes(DeleteMode.DIFF, every=timedelta(), max_fraction=0.9), history=History.SCD2
    ),
    "append, loaded directly": orders(Strategy.APPEND, size=WORTH_IT),
}


def test_what_a_dead_run_had_committed_is_told_by_the_run_that_finds_it() -> None:
    world, spec = World(shop()), TERMS["upsert by a stamp"]
    monday(world.database).commit()
    process = world.process()
    process.at["before landed"] = process.kill
    with pytest.raises(Killed):
        world.sync(spec, process=process)
    found = world.sync(spec)
    assert (found.status, found.seq, found.rows.inserted) == (Status.LANDED, 0, len(world.rows(ORDERS)))
    assert found.guarantee is not None
    assert found.reason == "found in the lake after its run had ended"
    assert world.sync(spec).status is Status.IDLE


@dataclass
class Story:
    """A world just before the sync that something happens to, and what is asked of that sync."""

    world: World
    request: Request


def first_load(spec: TableSpec) -> Story:
    world = World(shop())
    monday(world.database).commit()
    return Story(world, Request("the-sync"))


def later_sync(spec: TableSpec) -> Story:
    world = World(shop())
    clerk = monday(world.database)
    world.sync(spec)
    clerk.commit()
    world.database.tick(86_400)
    order(world.database, "alan", world.database.stamp())
    order(world.database, "mary", world.database.stamp())
    if spec.deletes.compares:
        world.database.delete(ORDERS, {"customer": "ada"})
    return Story(world, Request("the-sync"))


def backfill(spec: TableSpec) -> Story:
    story = later_sync(spec)
    window = None
    if spec.cursor is not None and spec.cursor.column == "id":
        window = Window(CursorValue.parse(spec.cursor.type, "2"), CursorValue.parse(spec.cursor.type, "6"))
    elif spec.read_by is not None and spec.cursor is not None:
        window = Window(
            CursorValue.parse(spec.cursor.type, "2024-01-29T00:00:00Z"),
            CursorValue.parse(spec.cursor.type, "2024-01-31T00:00:00Z"),
        )
    return Story(story.world, Request("the-sync", Mode.BACKFILL, window))


def backfill_of_a_new_table(spec: TableSpec) -> Story:
    return Story(first_load(spec).world, backfill(spec).request)


def full_refresh(spec: TableSpec) -> Story:
    return Story(later_sync(spec).world, Request("the-sync", Mode.FULL_REFRESH))


def takeover(last_moment: str) -> Callable[[TableSpec], Story]:
    def story(spec: TableSpec) -> Story:
        before = later_sync(spec)
        dying = before.world.process()
        dying.at[last_moment] = dying.kill
        with pytest.raises(Killed):
            before.world.sync(spec, process=dying)
        order(before.world.database, "late", before.world.database.stamp())
        if spec.deletes.compares:
            before.world.database.delete(ORDERS, {"customer": "barbara"})
        return before

    return story


SITUATIONS = {
    "a first load": first_load,
    "a later sync": later_sync,
    "a backfill": backfill,
    "a backfill of a new table": backfill_of_a_new_table,
    "a full refresh": full_refresh,
    "taking over what died with its batch staged": takeover("before commit"),
    "taking over what died with its commit made": takeover("after commit"),
    "taking over what died while it staged": takeover("staging"),
}
CASES = [
    pytest.param(spec, situation, id=f"{terms}, {name}")
    for terms, spec in TERMS.items()
    for name, situation in SITUATIONS.items()
]


def sampled(cases: list[Any], every: int) -> list[Any]:
    """In `make test` each kind of table meets some situations, and each situation some kinds; the other pairs take longer."""
    kinds, situations = list(TERMS.values()), list(SITUATIONS.values())
    return [
        case
        if (kinds.index(case.values[0]) + situations.index(case.values[1])) % every == 0
        else pytest.param(*case.values, id=case.id, marks=pytest.mark.acceptance)
        for case in cases
    ]


SLEEPY = ("a first load", "a later sync", "a backfill of a new table")
SLEEPY_CASES = [case for case in CASES if str(case.id).endswith(SLEEPY)]


def told_again(story: Story) -> Iterator[tuple[int, Story]]:
    """The same beginning for each moment: to repeat it takes as long as the sync that follows."""
    beginning = Beginning(story)
    for number in itertools.count():
        yield number, beginning.again()


class Beginning:
    """A copy of a story for each that goes on from it. Frozen values of the core are those of the original."""

    def __init__(self, story: Story) -> None:
        self._values: list[object] = []
        written = io.BytesIO()
        pickler = pickle.Pickler(written)
        pickler.persistent_id = self._value
        pickler.dump(story)
        self._written = written.getvalue()

    def again(self) -> Story:
        unpickler = pickle.Unpickler(io.BytesIO(self._written))
        unpickler.persistent_load = self._values.__getitem__
        story = unpickler.load()
        assert isinstance(story, Story)
        return story

    def _value(self, found: object) -> int | None:
        kind = type(found)
        if not (kind.__module__.startswith("incremental_assets.core.") and is_dataclass(kind)):
            return None
        assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]
        self._values.append(found)
        return len(self._values) - 1


def run(story: Story, spec: TableSpec, process: Process) -> None:
    sync_table(spec, story.request, story.world.ports(process))


def assert_whole(world: World, spec: TableSpec, moment: str) -> None:
    if spec.strategy is Strategy.FULL_REFRESH or spec.deletes.compares:
        world.database.tick(2 * 86_400)
    world.sync(spec)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS)), moment
    assert world.stage.batches == {}, f"a staged batch was left over: {moment}"
    assert world.memory.leases == {}, f"a lease was left over: {moment}"
    assert world.checkpoints.position(ORDERS).open is None, moment
    if spec.history is not History.NONE:
        assert world.lake.differing_versions(spec) == FaultyKeys(0), f"the history shows another table: {moment}"
        assert world.lake.overlapping_versions(spec) == FaultyKeys(0), moment
    sequences = world.lake.sequences(ORDERS)
    assert sequences == sorted(set(sequences)), f"sequences only grow: {moment}"


@pytest.mark.parametrize(("spec", "situation"), CASES)
def test_a_sync_killed_at_any_moment_is_made_good_by_the_next(
    spec: TableSpec, situation: Callable[[TableSpec], Story]
) -> None:
    for number, story in told_again(situation(spec)):
        process = story.world.process()
        process.kill_at = number
        try:
            run(story, spec, process)
        except Killed:
            assert_whole(story.world, spec, f"killed {process.moments[-1]}, number {number}")
        else:
            assert process.alive
            assert number > 10
            return


@pytest.mark.parametrize(("spec", "situation"), sampled(CASES, 4))
def test_an_error_of_any_port_is_made_good_by_the_next_sync(
    spec: TableSpec, situation: Callable[[TableSpec], Story]
) -> None:
    def err() -> None:
        raise OSError("no space left on device")

    for number, story in told_again(situation(spec)):
        process = story.world.process()
        process.at[number] = err
        try:
            run(story, spec, process)
        except OSError:
            met = next(name for at, name in enumerate(process.moments) if at == number)
            assert_whole(story.world, spec, f"failed {met}, number {number}")
        else:
            assert number in process.at
            return


@pytest.mark.parametrize(("spec", "situation"), sampled(CASES, 4))
def test_a_run_that_loses_its_engine_at_any_moment_comes_to_its_end(
    spec: TableSpec, situation: Callable[[TableSpec], Story]
) -> None:
    for number, story in told_again(situation(spec)):
        if not comes_to_its_end(story, spec, EngineLost(4711, "engine.log"), number):
            return


COMMITTING = ("apply", "commit", "fence", "follow", "rename")
"""What may be overtaken: the calls of the lake that commit, and the commits in them."""


@pytest.mark.parametrize(("spec", "situation"), CASES)
def test_a_run_that_is_overtaken_at_any_commit_comes_to_its_end(
    spec: TableSpec, situation: Callable[[TableSpec], Story]
) -> None:
    beginning = Beginning(situation(spec))
    story = beginning.again()
    undisturbed = story.world.process()
    attempt(spec, story.request, story.world.ports(undisturbed))
    numbers = [number for number, name in enumerate(undisturbed.moments) if name.split()[-1] in COMMITTING]
    assert len(numbers) >= 2
    for number in numbers:
        assert comes_to_its_end(beginning.again(), spec, Overtaken("another writer"), number)


def comes_to_its_end(story: Story, spec: TableSpec, met: Exception, number: int) -> bool:
    """Whether it met that, at this moment of it."""

    def meet() -> None:
        raise met

    process = story.world.process()
    process.at[number] = meet
    report = attempt(spec, story.request, story.world.ports(process))
    assert report.status in (Status.LANDED, Status.IDLE), f"{met!r} at moment {number}: {report.error}"
    assert_whole(story.world, spec, f"{met!r} at moment {number}")
    return number not in process.at


@pytest.mark.parametrize(("spec", "situation"), sampled(SLEEPY_CASES, 3))
def test_a_run_that_sleeps_past_its_lease_and_wakes_after_another_has_no_effect(
    spec: TableSpec, situation: Callable[[TableSpec], Story]
) -> None:
    for number, story in told_again(situation(spec)):
        sleeper = story.world.asleep(spec, number, story.request)
        if not sleeper.is_asleep:
            assert sleeper.error is None
            return
        story.world.pass_time(90_000)
        order(story.world.database, "meanwhile", story.world.database.stamp())
        story.world.sync(spec)
        sleeper.wake()
        assert_whole(story.world, spec, f"slept at moment {number}")


@pytest.mark.parametrize(("spec", "situation"), sampled(SLEEPY_CASES, 3))
def test_a_run_that_wakes_while_another_takes_over_has_no_effect(
    spec: TableSpec, situation: Callable[[TableSpec], Story]
) -> None:
    """The sleeper wakes at each moment of the run that takes over from it, having slept just before its commit."""
    for number, story in told_again(situation(spec)):
        sleeper = story.world.asleep(spec, "before commit", story.request)
        assert sleeper.is_asleep
        story.world.pass_time(90_000)
        order(story.world.database, "meanwhile", story.world.database.stamp())
        process = story.world.process()
        process.at[number] = sleeper.wake
        try:
            story.world.sync(spec, process=process)
        finally:
            sleeper.wake()
        if number in process.at:
            return
        assert_whole(story.world, spec, f"woke at moment {number}")
