"""The referee plays fair: a wrong copy is out, and the others play on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bench.contender import Contender, Job
from bench.figures import Played, Result, Round
from bench.measuring import Failed
from bench.playing import Play, Stand
from bench.source import Table
from bench.verifying import Copy
from bench.workload import Series, Workload

TABLE = Table("shop", "orders", ("id",))


class Shop:
    """A source of one table, whose rows are numbers."""

    def __init__(self) -> None:
        self.ids = [1, 2, 3]

    def types(self, table: Table) -> dict[str, str]:
        return {"id": "bigint"}

    def rows(self, tables: Sequence[Table]) -> int:
        return len(self.ids)

    def copy_out(self, table: Table, file: Path) -> None:
        file.write_text("".join(f"{number}\n" for number in self.ids))

    def settle(self) -> None:
        """At once."""


class Copier(Contender):
    """Copies what it can: all rows, or not the last; and fails in the rounds of these numbers. One run takes `seconds`."""

    def __init__(
        self, name: str, order: list[str], *, loses: bool = False, fails: int = 0, seconds: float = 1.0
    ) -> None:
        super().__init__(name)
        self.order, self.loses, self.fails, self.seconds, self.runs = order, loses, fails, seconds, 0

    def run(self, job: Job) -> Round:
        self.runs += 1
        self.order.append(self.name)
        if self.runs == self.fails:
            raise Failed("exit 1: out of memory")
        ids: list[int] = list(job.source.ids)  # type: ignore[attr-defined]
        job.lake.mkdir(parents=True, exist_ok=True)
        values = ", ".join(f"({number})" for number in (ids[:-1] if self.loses else ids))
        duckdb.execute(f"COPY (SELECT * FROM (VALUES {values}) AS t(id)) TO '{job.lake / 'copy.parquet'}'")
        return Round(self.seconds)

    def copy_of(self, job: Job, table: Table) -> Copy:
        return Copy("parquet", str(job.lake / "copy.parquet"))


@pytest.fixture
def order() -> list[str]:
    return []


def play(folder: Path, contenders: tuple[Contender, ...], **how: Any) -> Result:
    workload = Workload("W", (TABLE,), (Series("W", "a load", contenders, **how),))
    (result,) = Play(workload, Stand(folder, Shop(), rounds=3)).results()  # type: ignore[arg-type]
    return result


def add_a_row(shop: Any, number: int) -> None:
    shop.ids.append(100 + number)


def test_a_copy_that_lost_a_row_is_out_and_the_others_play_on(tmp_path: Path, order: list[str]) -> None:
    result = play(tmp_path, (Copier("loses", order, loses=True), Copier("right", order)))
    assert result.of("loses") == Played("loses", (), "shop.orders: its copy has 2 rows and the source 3")
    assert result.of("right") == Played("right", (Round(1.0),) * 3)


def test_where_only_the_last_copy_is_compared_no_round_counts_without_it(tmp_path: Path, order: list[str]) -> None:
    contenders = Copier("loses", order, loses=True), Copier("right", order)
    result = play(tmp_path, contenders, verified_last=True)
    assert result.of("loses") == Played("loses", (), "shop.orders: its copy has 2 rows and the source 3")
    assert result.of("right") == Played("right", (Round(1.0),) * 3)
    assert order.count("loses") == 3


def test_one_that_is_played_once_is_compared_after_that(tmp_path: Path, order: list[str]) -> None:
    result = play(tmp_path, (), once=(Copier("loses", order, loses=True),), verified_last=True)
    assert result.of("loses") == Played("loses", (), "shop.orders: its copy has 2 rows and the source 3")


def test_a_contender_that_fails_is_not_asked_again_and_the_others_play_on(tmp_path: Path, order: list[str]) -> None:
    failing = Copier("fails", order, fails=2)
    result = play(tmp_path, (failing, Copier("right", order)))
    assert result.of("fails") == Played("fails", (Round(1.0),), "exit 1: out of memory")
    assert failing.runs == 2
    assert result.of("right") == Played("right", (Round(1.0),) * 3)


def test_the_order_rotates_from_round_to_round(tmp_path: Path, order: list[str]) -> None:
    play(tmp_path, (Copier("a", order), Copier("b", order), Copier("c", order)))
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]


def test_a_tick_is_compared_with_the_source_as_it_is_by_then(tmp_path: Path, order: list[str]) -> None:
    result = play(tmp_path, (Copier("right", order), Copier("loses", order, loses=True)), change=add_a_row)
    assert result.of("right") == Played("right", (Round(1.0),) * 3)
    assert result.of("loses") == Played("loses", (), "shop.orders: its copy has 3 rows and the source 4")


def test_rounds_to_warm_up_do_not_count(tmp_path: Path, order: list[str]) -> None:
    result = play(tmp_path, (Copier("right", order),), untimed=2)
    assert order == ["right"] * 5
    assert result.of("right") == Played("right", (Round(1.0),) * 3)


def test_those_on_whom_no_target_rests_are_played_once(tmp_path: Path, order: list[str]) -> None:
    result = play(tmp_path, (Copier("ours", order),), once=(Copier("slow", order),))
    assert result.of("slow") == Played("slow", (Round(1.0),))
    assert order == ["ours", "slow", "ours", "ours"]


def test_a_round_to_warm_up_is_followed_by_one_that_counts(tmp_path: Path, order: list[str]) -> None:
    result = play(tmp_path, (), once=(Copier("slow", order),), untimed=1)
    assert result.of("slow") == Played("slow", (Round(1.0),))
    assert order == ["slow", "slow"]


def test_who_stays_for_several_workloads_warms_up_once_and_is_ended_by_its_maker(
    tmp_path: Path, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, ended = Copier("stays", order), list[str]()
    stays.warms = stays.shared = True
    monkeypatch.setattr(Play, "_warm", lambda _play, contender, _job: order.append(f"{contender.name} warms up"))
    monkeypatch.setattr(stays, "close", lambda: ended.append("stays"))
    for name in ("first", "second"):
        workload = Workload(name, (TABLE,), (Series("W", "ticks", (stays,), change=add_a_row, rounds=1),))
        one = Play(workload, Stand(tmp_path, Shop(), rounds=1))  # type: ignore[arg-type]
        assert [result.of("stays") for result in one.results()] == [Played("stays", (Round(1.0),))]
        one.end()
    assert order == ["stays warms up", *["stays"] * 4]
    assert ended == []
