"""`sync --follow`: a sync, and again one whenever something has changed, until Ctrl-C."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance

from incremental_assets.cli.commands import follow
from incremental_assets.core.errors import SourceUnreachable
from tests.cli.conftest import CONFIG, Call, Outside, Said
from tests.fakes.database import SimulatedDatabase
from tests.scenario import monday, order

Action = Callable[[], None]


@dataclass
class Clock:
    """Each sleep passes at once, and something happens in it; behind the last one somebody presses Ctrl-C."""

    actions: list[Action]
    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        if not self.actions:
            raise KeyboardInterrupt
        self.slept.append(seconds)
        self.now += seconds
        self.actions.pop(0)()


Followed = Callable[..., tuple[Said, Clock]]


@pytest.fixture
def followed(call: Call, monkeypatch: pytest.MonkeyPatch) -> Followed:
    """`sync --follow` with what happens between its looks."""

    def one(*actions: Action, flags: tuple[str, ...] = ("--json",)) -> tuple[Said, Clock]:
        clock = Clock(list(actions))
        monkeypatch.setattr(follow, "time", clock)
        return call("sync", "--follow", *flags), clock

    return one


def documents(said: Said) -> list[dict[str, Any]]:
    """One in each line, all but the last, which says that the command was interrupted."""
    *found, last = [json.loads(line) for line in said.out.splitlines()]
    assert last["error"]["exit_code"] == said.code == 130
    return found


def landed(said: Said) -> list[dict[str, tuple[str, int]]]:
    return [
        {entry["table"]: (entry["status"], entry["rows"]["inserted"]) for entry in document["tables"]}
        for document in documents(said)
    ]


def nothing() -> None:
    """Between two looks."""


def test_what_changes_is_told_and_a_look_that_finds_nothing_says_nothing(followed: Followed, synced: Outside) -> None:
    database = synced.world.database

    def ordered() -> None:
        database.tick(3600)
        order(database, "alan", database.stamp())

    said, clock = followed(nothing, ordered, nothing, ordered)

    first, *later = landed(said)
    assert set(first) == {"public.orders", "public.countries"}
    assert later == [{"public.orders": ("landed", 1)}, {"public.orders": ("landed", 1)}]
    assert clock.slept == [60.0] * 4
    assert said.code == 130


def test_a_source_that_is_gone_is_told_once_left_alone_longer_each_time_and_gone_on_with(
    followed: Followed, synced: Outside
) -> None:
    database = synced.world.database

    def gone() -> None:
        synced.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    def back() -> None:
        synced.broken = None
        database.tick(3600)
        order(database, "alan", database.stamp())

    said, _ = followed(gone, nothing, nothing, nothing, back, nothing, nothing, nothing)

    first, told, again = landed(said)
    assert {status for status, _ in first.values()} == {"idle"}
    assert {name: status for name, (status, _) in told.items()} == {
        "public.orders": "failed",
        "public.countries": "failed",
    }
    assert again["public.orders"] == ("landed", 1)


def test_each_source_is_looked_at_in_its_own_time(followed: Followed, outside: Outside, config: Path) -> None:
    own = "    dialect: postgresql\n"
    another = CONFIG.partition("sources:\n")[2].partition("    tables:\n")[0].replace("shop:", "store:")
    written = CONFIG.replace(own, f"{own}    every: 20s\n") + another.replace(own, f"{own}    every: 50s\n")
    config.write_text(written)
    monday(outside.world.database)
    _, clock = followed(*[nothing] * 5)
    assert clock.slept == [20.0, 20.0, 10.0, 10.0, 20.0]


@dataclass
class Shown:
    """What Dagster has of `orders`: its runs, and of each materialization the rows that it says were inserted, oldest first."""

    runs: int
    inserted: list[int]

    @classmethod
    def now(cls) -> Shown:
        with DagsterInstance.get() as instance:
            records = instance.fetch_materializations(AssetKey(["shop", "public", "orders"]), limit=100).records
            entries = [record.asset_materialization.metadata for record in records if record.asset_materialization]
            rows = [int(entry["rows_inserted"].value) for entry in reversed(entries) if "rows_inserted" in entry]
            return cls(instance.get_runs_count(), rows)


@pytest.fixture
def each_second(outside: Outside, config: Path) -> SimulatedDatabase:
    """A source that is looked at each second."""
    config.write_text(CONFIG.replace("    dialect: postgresql\n", "    dialect: postgresql\n    every: 1s\n"))
    monday(outside.world.database)
    return outside.world.database


def test_what_lands_each_second_is_one_run_in_ten_for_dagster_which_tells_of_all_of_it(
    followed: Followed, each_second: SimulatedDatabase
) -> None:
    database, shown = each_second, list[Shown]()

    def ordered() -> None:
        shown.append(Shown.now())
        database.tick(1)
        order(database, "alan", database.stamp())

    said, _ = followed(nothing, *[ordered] * 9, nothing, lambda: shown.append(Shown.now()))
    assert [rows["public.orders"][1] for rows in landed(said)[1:]] == [1] * 9
    assert {each.runs for each in shown[:9]} == {shown[0].runs}
    assert shown[-1].runs == shown[0].runs + 1
    assert shown[-1].inserted[-1] == 9


def test_what_has_landed_is_told_though_nothing_comes_after_it(
    followed: Followed, each_second: SimulatedDatabase
) -> None:
    database, shown = each_second, list[Shown]()

    def ordered() -> None:
        database.tick(1)
        order(database, "alan", database.stamp())

    said, _ = followed(ordered, ordered, *[nothing] * 10, lambda: shown.append(Shown.now()))
    assert len(landed(said)) == 3
    assert shown[0].inserted[-1] == 2


def test_people_read_a_table_for_each_sync_that_moved_rows(followed: Followed, synced: Outside) -> None:
    database = synced.world.database

    def ordered() -> None:
        database.tick(3600)
        order(database, "alan", database.stamp())

    said, _ = followed(nothing, ordered, flags=())
    assert said.out.count("shop.public.orders") == 1
    assert "synced 1 table; 1 row read" in said.out
    assert said.code == 130


@pytest.mark.parametrize("flag", ["--full-refresh", "--allow-shrink", "--now"])
def test_what_is_meant_once_has_no_place_beside_it(call: Call, flag: str) -> None:
    said = call("sync", "--follow", flag, "--yes")
    assert (said.code, said.err) == (
        2,
        f"`--follow` syncs what has changed, again and again, so that `{flag}` has no place beside it; leave one of the two out\n",
    )


def test_a_pattern_without_a_match_ends_it_at_once(followed: Followed) -> None:
    said, _ = followed(flags=("--select", "public.nowhere"))
    assert said.code == 2
    assert "matches no table" in said.err


def test_a_source_in_its_quiet_time_is_left_alone_once_the_first_sync_is_done(
    followed: Followed, outside: Outside, config: Path
) -> None:
    now = datetime.now(UTC)
    times = "-".join(f"{now + timedelta(hours=hours):%H:%M}" for hours in (-2, 2))
    quiet = f"    quiet: {times}\n    check_at: never\n    tables:\n"
    config.write_text(CONFIG.replace("    tables:\n", quiet, 1))
    monday(outside.world.database)

    def ordered() -> None:
        outside.world.database.tick(3600)
        order(outside.world.database, "alan", outside.world.database.stamp())

    said, _ = followed(nothing, ordered, nothing)
    assert len(landed(said)) == 1
