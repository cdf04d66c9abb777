"""One budget of sessions for a source: what is taken, who waits for whom, and what a dead process leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from incremental_assets.adapters import budget as budgets
from incremental_assets.adapters.budget import Budget, patiently
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import Interrupted, SourceFull

_HOLDS = """
import sys, time
from incremental_assets.adapters.budget import Budget
with Budget("reader@db/shop", 2, sys.argv[1]).look():
    print("held", flush=True)
    time.sleep(600)
"""


def _counted(budget: Budget) -> int:
    """The sessions that can be taken at once, by locks alone: those of other processes do not count."""
    with ExitStack() as held:
        taken = 0
        while (slot := budget._free(range(budget.most))) is not None:
            held.callback(budgets._release, slot)
            taken += 1
        return taken


@pytest.mark.parametrize("folder", ["", "counted"])
@pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
def test_no_more_sessions_than_the_budget_are_ever_open(tmp_path: Path, folder: str, most: int) -> None:
    budget = Budget("reader@db/shop", most, folder and str(tmp_path / folder))
    lock, count, peak = threading.Lock(), [0], [0]

    def opened(by: int) -> None:
        with lock:
            count[0] += by
            peak[0] = max(peak[0], count[0])

    def sync() -> None:
        with budget.look():
            opened(1)
            opened(-1)
        with budget.snapshot():
            opened(1)
            if most > 1:
                with budget.readers(3) as readers:
                    opened(readers)
                    opened(-readers)
            opened(-1)

    threads = [threading.Thread(target=sync) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert 1 <= peak[0] <= most
    assert _counted(budget) == most


@pytest.mark.parametrize("most", [4, 5, 9])
def test_sessions_that_are_kept_leave_places_to_a_look_a_snapshot_and_its_reader(most: int) -> None:
    budget = Budget("reader@db/shop", most)
    with ExitStack() as held:
        kept = 0
        while held.enter_context(budget.kept()):
            kept += 1
        assert kept == most - 3
        held.enter_context(budget.snapshot())
        assert held.enter_context(budget.readers(9)) == 1
        held.enter_context(budget.look())
        assert _counted(budget) == 0


def test_snapshots_leave_one_place_to_a_reader_and_loads_one_to_looks() -> None:
    budget = Budget("reader@db/shop", 4)
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(budget.snapshot())
        assert held.enter_context(budget.readers(9)) == 1
        held.enter_context(budget.look())
        assert _counted(budget) == 0


def test_readers_take_what_is_free_and_no_more_than_they_want() -> None:
    budget = Budget("reader@db/shop", 9)
    with budget.snapshot(), budget.readers(4) as readers:
        assert readers == 4
    with budget.snapshot(), budget.readers(40) as readers:
        assert readers == 7


def test_another_process_counts_and_its_death_gives_its_session_back(tmp_path: Path) -> None:
    budget = Budget("reader@db/shop", 2, str(tmp_path))
    other = subprocess.Popen([sys.executable, "-c", _HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert _counted(budget) == 1
        os.kill(other.pid, signal.SIGKILL)
        other.wait(60)
        assert _counted(budget) == 2
    finally:
        other.kill()
        other.wait()
        assert other.stdout is not None
        other.stdout.close()


def test_a_fork_holds_nothing_of_its_parent(tmp_path: Path) -> None:
    budget = Budget("reader@db/shop", 1, str(tmp_path))
    ready, told = os.pipe()
    there, born = os.pipe()
    with budget.look():
        child = os.fork()
        if child == 0:
            os.write(born, b".")
            os.read(ready, 1)
            os._exit(0)
    try:
        os.read(there, 1)
        assert _counted(budget) == 1
    finally:
        os.write(told, b".")
        os.waitpid(child, 0)
        for each in (ready, told, there, born):
            os.close(each)


def test_two_sources_and_two_homes_have_budgets_of_their_own(tmp_path: Path) -> None:
    with Budget("reader@db/shop", 1, str(tmp_path)).look():
        assert _counted(Budget("reader@db/other", 1, str(tmp_path))) == 1
        assert _counted(Budget("reader@db/shop", 1, str(tmp_path / "other"))) == 1
        assert _counted(Budget("reader@db/shop", 1, str(tmp_path))) == 0


def test_who_waits_for_a_session_is_interrupted() -> None:
    budget = Budget("reader@db/shop", 1)
    met: list[BaseException] = []

    def waits() -> None:
        try:
            with budget.look():
                pass
        except Interrupted as error:
            met.append(error)

    with budget.look():
        thread = threading.Thread(target=waits)
        thread.start()
        this_process.ask()
        try:
            thread.join(60)
        finally:
            this_process.go_on()
    assert len(met) == 1


def test_a_full_server_is_asked_again_until_it_has_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "_AGAIN", (0.0, 0.001))
    answers = iter([SourceFull("full"), SourceFull("full"), "a session"])

    def opening() -> str:
        answer = next(answers)
        if isinstance(answer, SourceFull):
            raise answer
        return answer

    assert patiently(opening, Budget("reader@full/shop", 4)) == "a session"


def test_a_server_that_stays_full_is_told_in_its_own_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "_AGAIN", (0.0, 0.001))
    monkeypatch.setattr(budgets, "PATIENCE", 0.0)

    def opening() -> str:
        raise SourceFull("full")

    with pytest.raises(SourceFull):
        patiently(opening, Budget("reader@full/shop", 4))


def test_a_source_without_a_connection_for_a_reader_is_read_by_one_session_from_then_on() -> None:
    budget = Budget("reader@narrowed/shop", 4)
    assert not budget.is_single
    budget.narrow()
    assert budget.is_single
    assert not Budget("reader@another/shop", 4).is_single
