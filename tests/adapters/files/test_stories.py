"""Files through the whole story of a sync: killed at every moment, replaced, gone, half written, and none of them twice."""

from __future__ import annotations

import itertools
import os
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.files import listing, source
from incremental_assets.adapters.files.ledger import Ledger
from incremental_assets.adapters.files.ranking import Ranking
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.dropped_file import Changed
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import ORDERS, TABLE, Drop, files
from tests.fakes import Killed

BOTH = pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
ALL = files(columns={"id": "bigint", "status": "string"})
DATED = files(columns={"id": "bigint", "status": "string", "at": "bigint"}, key=("id",), order="at")


def test_each_row_of_each_file_lands_once_with_its_place(tmp_path: Path) -> None:
    drop = Drop(tmp_path, ALL, Strategy.APPEND)
    drop.put("a.csv", "id,status\n1,new\n1,new\n")
    first = drop.sync()
    assert (first.status, first.guarantee) == (Status.LANDED, "settled")
    assert drop.sync().status is Status.IDLE
    drop.put("2024/b.csv", "status,id\npaid,1\n")
    drop.sync()
    assert drop.places() == [("2024/b.csv", 1), ("a.csv", 1), ("a.csv", 2)]
    assert [(row["id"], row["status"]) for row in drop.rows()] == [(1, "paid"), (1, "new"), (1, "new")]
    assert drop.landed() == ["2024/b.csv", "a.csv"]


def test_of_each_key_the_newest_row_counts_by_path_and_number(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    drop.put("b.csv", "id,status\n1,new\n2,new\n1,paid\n")
    drop.put("a.csv", "id,status\n2,older\n3,new\n")
    drop.sync()
    assert drop.copy() == {1: "paid", 2: "new", 3: "new"}
    drop.put("c.csv", "id,status\n3,paid\n")
    drop.sync()
    assert drop.copy()[3] == "paid"


def test_a_file_that_comes_late_takes_no_row_back(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    drop.put("b.csv", "id,status\n1,paid\n")
    drop.sync()
    drop.put("a.csv", "id,status\n1,older\n2,new\n")
    drop.sync()
    assert drop.copy() == {1: "paid", 2: "new"}


def test_by_an_order_the_larger_value_counts_wherever_it_comes(tmp_path: Path) -> None:
    drop = Drop(tmp_path, DATED)
    drop.put("z.csv", "id,status,at\n1,paid,20\n2,new,\n3,new,10\n4,paid,20\n")
    drop.sync()
    drop.put("zz.csv", "id,status,at\n1,older,10\n2,paid,1\n3,same,10\n4,older,10\n")
    drop.put("a.csv", "id,status,at\n1,sent,30\n2,none,\n3,same too,10\n")
    drop.sync()
    assert drop.copy() == {1: "sent", 2: "paid", 3: "same", 4: "paid"}


def test_a_variant_that_takes_what_comes_for_newer_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranking, "_newer_than", lambda self, rows, *_: rows)
    for number, test in enumerate(
        (
            test_a_file_that_comes_late_takes_no_row_back,
            test_by_an_order_the_larger_value_counts_wherever_it_comes,
        )
    ):
        (tmp_path / str(number)).mkdir()
        with pytest.raises(AssertionError):
            test(tmp_path / str(number))


def test_an_older_row_that_cannot_land_takes_no_newer_one_away(tmp_path: Path) -> None:
    drop = Drop(tmp_path, DATED)
    drop.put("b.csv", "id,status,at\n1,paid,20\n2,paid,20\n")
    drop.sync()
    drop.put("a.csv", b"id,status,at\n1,\xff,10\n2,\xff,30\n")
    drop.sync()
    assert drop.copy() == {1: "paid"}
    assert [(file, number) for file, number, _ in drop.unfit()] == [("a.csv", 1), ("a.csv", 2)]


@BOTH
def test_a_sync_that_is_killed_at_any_moment_is_made_good_by_the_next(tmp_path: Path, strategy: Strategy) -> None:
    for second in (False, True):
        for number in itertools.count():
            home = tmp_path / f"{second}-{number}"
            home.mkdir()
            drop = Drop(home, ORDERS if strategy is Strategy.UPSERT else ALL, strategy)
            drop.put("a.csv", "id,status\n1,new\n2,new\n")
            if second:
                drop.sync()
                drop.put("b.csv", "id,status\n2,paid\n")
            process = drop.world.process()
            process.kill_at = number
            try:
                drop.sync(process)
            except Killed:
                moment = f"killed {process.moments[-1]}, number {number}"
            else:
                assert number > 10
                break
            drop.put("c.csv", "id,status\n1,sent\n")
            drop.sync()
            assert drop.landed() == (["a.csv", "b.csv", "c.csv"] if second else ["a.csv", "c.csv"]), moment
            assert drop.world.stage.batches == {}, moment
            assert drop.world.checkpoints.position(TABLE).open is None, moment
            if strategy is Strategy.UPSERT:
                assert drop.copy() == {1: "sent", 2: "paid" if second else "new"}, moment
            else:
                late = [("b.csv", 1)] if second else []
                assert drop.places() == [("a.csv", 1), ("a.csv", 2), *late, ("c.csv", 1)], moment


def test_a_variant_that_forgets_which_files_have_landed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "added", lambda self, before, files: tuple(before))
    with pytest.raises(AssertionError):
        test_each_row_of_each_file_lands_once_with_its_place(tmp_path)


def test_a_file_that_goes_before_it_is_read_stops_the_table_and_nothing_is_lost(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    drop.put("a.csv", "id,status\n1,new\n")
    gone = drop.put("b.csv", "id,status\n2,new\n")
    process = drop.world.process()
    process.at["before snapshot"] = gone.unlink
    assert drop.refused(process=process).startswith(
        "SourceRefused: drop.shop.orders: the file 'b.csv' was listed, and has gone before it was read, so that nothing of this list has landed"
    )
    drop.put("b.csv", "id,status\n2,back\n")
    drop.sync()
    assert drop.copy() == {1: "new", 2: "back"}


def test_a_file_that_is_written_while_it_is_read_lands_when_it_is_complete(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    path = drop.put("a.csv", "id,status\n1,new\n")
    process = drop.world.process()
    process.at["before snapshot"] = lambda: path.open("a").write("2,new\n")
    assert "the file 'a.csv' was written while it was read" in drop.refused(process=process)
    drop.sync()
    assert drop.copy() == {1: "new", 2: "new"}


@pytest.mark.parametrize("changed", Changed)
def test_a_file_that_has_landed_and_is_another_one_since(tmp_path: Path, changed: Changed) -> None:
    drop = Drop(tmp_path, files(columns={"id": "bigint", "status": "string"}, key=("id",), changed=changed))
    drop.put("a.csv", "id,status\n1,new\n2,new\n")
    drop.put("b.csv", "id,status\n3,new\n")
    drop.sync()
    drop.put("a.csv", "id,status\n1,fix\n4,new\n")
    if changed is Changed.FAIL:
        assert drop.refused().startswith(
            "SourceExchanged: drop.shop.orders: the file 'a.csv' (22 bytes) is no longer the one that landed, so that the copy has rows of what it was"
        )
        assert drop.copy() == {1: "new", 2: "new", 3: "new"}
        drop.sync(mode=Mode.FULL_REFRESH)
    drop.sync()
    after = {1: "fix", 3: "new", 4: "new"}
    assert drop.copy() == ({1: "new", 2: "new", 3: "new"} if changed is Changed.IGNORE else after)
    assert drop.sync().status is Status.IDLE


def test_a_file_that_is_replaced_takes_along_the_rows_that_came_from_it_where_no_key_is_declared(
    tmp_path: Path,
) -> None:
    drop = Drop(tmp_path, files(columns={"id": "bigint", "status": "string"}, changed=Changed.AGAIN))
    drop.put("a.csv", "id,status\n1,new\n2,new\n3,new\n")
    drop.put("b.csv", "id,status\n1,new\n")
    drop.sync()
    drop.put("a.csv", "id,status\n1,fix\n")
    report = drop.sync()
    assert [(row["_file"], row["_file_row"], row["status"]) for row in drop.rows()] == [
        ("a.csv", 1, "fix"),
        ("b.csv", 1, "new"),
    ]
    assert report.rows.deleted == 2


def test_a_row_of_a_replaced_file_counts_against_those_of_other_files_alone(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(**vars_of(DATED), changed=Changed.AGAIN))
    drop.put("a.csv", "id,status,at\n1,wrong,90\n2,new,10\n")
    drop.put("b.csv", "id,status,at\n2,paid,50\n")
    drop.sync()
    drop.put("a.csv", "id,status,at\n1,right,20\n2,new,20\n")
    drop.sync()
    assert drop.copy() == {1: "right", 2: "paid"}


def vars_of(made_of: object) -> dict[str, object]:
    assert made_of is DATED
    return {"columns": {"id": "bigint", "status": "string", "at": "bigint"}, "key": ("id",), "order": "at"}


def test_a_file_waits_until_it_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = Drop(tmp_path, files(columns={"id": "bigint", "status": "string"}, settle=timedelta(seconds=30)))
    path = drop.put("a.csv", "id,status\n1,new\n")
    # What copies a file may set its time back; that of the last touch nobody sets.
    os.utime(path, (0, 0))
    report = drop.sync()
    assert (report.status, drop.rows(), report.warnings) == (
        Status.LANDED,
        [],
        ("1 file waits until it stays as it is for 30s",),
    )
    assert drop.sync().status is Status.IDLE
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 31)
    drop.sync()
    assert drop.places() == [("a.csv", 1)]


def test_a_file_waits_for_the_one_that_says_that_it_is_complete(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(columns={"id": "bigint", "status": "string"}, marker=".done"))
    drop.put("a.csv", "id,status\n1,new\n")
    assert drop.sync().warnings == ("1 file waits for the file that says that it is complete",)
    drop.put("a.csv.done", "")
    drop.put("b.csv.done", "")
    drop.sync()
    assert drop.places() == [("a.csv", 1)]


HOSTILE = (
    " .csv",
    "a\nb.csv",
    "50%.csv",
    "ä\u2028ß.csv",
    "..x.csv"[1:],
    "a..b.csv",
    "'; drop table.csv",
    '"q".csv',
    "a,b.csv",
    "~A0.csv",
    "-r.csv",
    "%2e%2e/x.csv",
    "x" * 240 + ".csv",
)


@BOTH
def test_names_with_any_sign_in_them_are_names(tmp_path: Path, strategy: Strategy) -> None:
    drop = Drop(tmp_path, files(path="**/*.csv", columns={"id": "bigint", "status": "string"}), strategy)
    for name in HOSTILE:
        drop.put(name, "id,status\n1,new\n")
    drop.sync()
    there = sorted(name for name in HOSTILE if not name.startswith("."))
    assert [file for file, _ in drop.places()] == there
    assert drop.landed() == there
    assert drop.sync().status is Status.IDLE


def test_a_name_that_is_no_text_is_named(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    (tmp_path / "in" / os.fsdecode(b"\xff.csv")).write_text("id,status\n1,new\n")
    assert "the file '\\udcff.csv' has a name that is no UTF-8" in drop.refused()


def test_links_are_followed_and_none_of_them_forever(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(path="**/*.csv", columns={"id": "bigint", "status": "string"}))
    drop.put("there/a.csv", "id,status\n1,new\n")
    (drop.folder / "there" / "back").symlink_to(drop.folder)
    (drop.folder / "b.csv").symlink_to(drop.folder / "there" / "a.csv")
    (drop.folder / "dangling.csv").symlink_to(drop.folder / "nowhere")
    os.mkfifo(drop.folder / "pipe.csv")
    drop.sync()
    assert drop.places() == [("b.csv", 1), ("there/a.csv", 1)]


def test_a_folder_that_is_not_there_is_not_an_empty_one(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    drop.folder.rmdir()
    assert drop.refused().startswith(f"SourceUnreachable: drop.shop.orders: the folder '{drop.folder}' is not there")


def test_what_a_reset_forgets_does_not_land_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_FILES", 1)
    drop = Drop(tmp_path, ALL, Strategy.APPEND)
    for name in "abc":
        drop.put(f"{name}.csv", "id,status\n1,new\n")
        drop.sync()
    reset_table(spec=drop.spec, to=None, run_id="reset", checkpoints=drop.world.checkpoints)
    for _ in range(3):
        drop.sync()
    assert drop.places() == [("a.csv", 1), ("b.csv", 1), ("c.csv", 1)]


def test_a_sync_reads_so_many_files_at_once_and_says_how_many_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_BYTES", 40)
    drop = Drop(tmp_path)
    for name in "abcd":
        drop.put(f"{name}.csv", "id,status\n1,new\n")
    assert drop.sync().warnings == ("2 files more are read by the next syncs",)
    assert (drop.landed(), drop.sync().warnings, drop.landed()) == (
        ["a.csv", "b.csv"],
        (),
        [*map("{}.csv".format, "abcd")],
    )
    drop.put("large.csv", "id,status\n" + "1,new\n" * 10)
    drop.sync()
    assert "large.csv" in drop.landed()


def test_the_ledger_is_a_few_pages_that_no_commit_grows_with(tmp_path: Path) -> None:
    drop = Drop(tmp_path, ALL, Strategy.APPEND)
    for number in range(40):
        drop.put(f"{number:02}.csv", "id,status\n1,new\n")
        drop.sync()
    assert len(drop.landed()) == drop.at().files == 40
    assert len(drop.at().pages) <= 4


def test_a_page_that_cannot_be_read_stops_the_table_by_name(tmp_path: Path) -> None:
    drop = Drop(tmp_path)
    drop.put("a.csv", "id,status\n1,new\n")
    drop.sync()
    for page in drop.ledger.iterdir():
        page.unlink()
    told = drop.refused()
    assert told.startswith(
        f"LakeRefused: drop.shop.orders: {drop.ledger}, where it is kept which files have landed, cannot be used"
    )
    drop.sync(mode=Mode.FULL_REFRESH)
    assert drop.sync().status is Status.IDLE


def test_rows_that_wait_are_as_old_as_their_file(tmp_path: Path) -> None:
    from incremental_assets.core.model.observe_request import ObserveRequest

    drop = Drop(tmp_path)
    drop.put("a.csv", "id,status\n1,new\n")
    drop.sync()
    state = drop.world.checkpoints.position(TABLE).state
    assert drop.probe.lag([ObserveRequest(drop.spec, state)]) == (0.0,)
    drop.put("b.csv", "id,status\n1,new\n")
    time.sleep(0.02)
    (lag,) = drop.probe.lag([ObserveRequest(drop.spec, state)])
    assert 0.02 <= lag < 60


def test_a_file_that_is_to_be_ignored_does_not_wait(tmp_path: Path) -> None:
    from incremental_assets.core.model.observe_request import ObserveRequest

    for changed, waits in ((Changed.IGNORE, False), (Changed.FAIL, True), (Changed.AGAIN, True)):
        (tmp_path / changed).mkdir()
        drop = Drop(tmp_path / changed, files(columns={"id": "bigint", "status": "string"}, changed=changed))
        drop.put("a.csv", "id,status\n1,new\n")
        drop.sync()
        drop.put("a.csv", "id,status\n1,other\n")
        time.sleep(0.02)
        (lag,) = drop.probe.lag([ObserveRequest(drop.spec, drop.world.checkpoints.position(TABLE).state)])
        assert (lag > 0) is waits


def test_wide_rows_are_written_before_they_are_too_much_to_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = Drop(tmp_path, strategy=Strategy.APPEND, files=files(columns={"id": "bigint", "status": "string"}))
    for number in range(30):
        drop.put(f"{number}.csv", f"id,status\n{number},{'x' * 2_000}\n")
    written: list[int] = []
    write = pq.ParquetWriter.write_table

    def noted(writer: pq.ParquetWriter, rows: pa.Table, *more: int, **options: int) -> None:
        written.append(rows.nbytes)
        write(writer, rows, *more, **options)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", noted)
    monkeypatch.setattr(source, "_GROUP_BYTES", 10_000, raising=False)
    assert drop.sync().rows.inserted == 30
    assert len(written) > 4
    assert max(written) < 13_000
