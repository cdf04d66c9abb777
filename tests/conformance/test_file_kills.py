"""T83: a sync of files ends anywhere; the next one makes it good."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from incremental_assets.core.errors import Busy
from incremental_assets.core.planning.report import Status
from tests.conformance.file_stand import BY_ORDER, EACH_ROW, FileStand
from tests.conformance.killing import killed_at
from tests.conformance.points import Point
from tests.conformance.scenario import of_files

ROOT = Path(__file__).parents[2]
POINTS = (Point.READING, Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.LANDED)


@of_files(
    "T83",
    "kill -9 of the whole process at each of five points of a landing, with files that are dropped before and after",
    holds="one more sync: each row of each file is there once, the ledger has each file, no file, lease or open sequence is left",
)
@pytest.mark.parametrize("point", [*map(str, POINTS)])
def test_a_killed_sync_of_files_is_made_good_by_the_next(files: FileStand, point: str) -> None:
    files.configure(table=EACH_ROW)
    files.put("b.csv", (1, "new", 1), (1, "new", 1))
    files.land()
    files.put("c.csv", (2, "new", 1), (2, "new", 1))
    killed_at(files.place, point)
    files.put("a.csv", (3, "new", 1))
    files.land()
    assert files.places() == [("a.csv", 1), ("b.csv", 1), ("b.csv", 2), ("c.csv", 1), ("c.csv", 2)]
    files.assert_tidy()


def status(files: FileStand) -> Status:
    """How a sync ends; one that finds the table taken says so by an error."""
    try:
        return files.place.sync().status
    except Busy as error:
        return Status.of(error)


@of_files(
    "T83",
    "two runs sync the same folder at once, five times",
    holds="each row lands once; the one that comes second is turned away by its name, or finds nothing to do",
)
def test_two_runs_of_files_at_once(files: FileStand) -> None:
    files.configure(table=EACH_ROW)
    for number in range(5):
        files.put(f"{number}.csv", *[(row, "new", 1) for row in range(10)])
        with ThreadPoolExecutor(2) as both:
            found = [each.result() for each in [both.submit(status, files) for _ in range(2)]]
        assert Status.LANDED in found
        assert {*found} <= {Status.LANDED, Status.IDLE, Status.BUSY}
    assert files.places() == [(f"{number}.csv", row) for number in range(5) for row in range(1, 11)]


@of_files(
    "T83",
    "four hundred files are dropped by four threads, under names in no order, while the folder is synced",
    holds="each row is there once; by key and order the copy has the newest row of each key",
)
@pytest.mark.parametrize("by_order", [False, True], ids=["each row", "by order"])
def test_files_that_are_dropped_while_the_folder_is_synced(files: FileStand, by_order: bool) -> None:
    files.configure(BY_ORDER if by_order else "", "" if by_order else EACH_ROW)

    def drop(thread: int) -> None:
        for number in range(100):
            files.put(f"{(number * 37 + thread * 11) % 100:02}-{thread}.csv", (thread, f"at {number}", number))

    threads = [threading.Thread(target=drop, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        files.place.sync()
    files.land()
    if by_order:
        assert files.copy() == dict.fromkeys(range(4), "at 99")
    else:
        assert files.places() == sorted(
            (f"{number:02}-{thread}.csv", 1) for number in range(100) for thread in range(4)
        )
