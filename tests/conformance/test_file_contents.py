"""T84: files that are half written, replaced, gone, late, broken or named in any way: what lands is what was listed, once, and anything else is named."""

from __future__ import annotations

import gzip
import os
import threading
import time

import pytest

from incremental_assets.core.planning.plan import Mode
from tests.conformance.file_stand import BY_ORDER, EACH_ROW, FileStand, content
from tests.conformance.scenario import of_files
from tests.fakes import Process


@of_files(
    "T84",
    "a program writes a file line by line for four seconds and sets its time back, while the folder is synced under `settle: 1s`; another writes under `marker: .done`",
    holds="each lands once it is complete, as a whole, once",
)
def test_a_file_that_is_half_written(folder_of_files: FileStand) -> None:
    files = folder_of_files
    files.configure(", marker: .done", EACH_ROW)
    files.put("marked.csv", (1, "new", 1))
    files.place.sync()
    assert files.places() == []
    files.place.put("marked.csv.done", "")
    files.land()
    files.configure(table=EACH_ROW, settle="1s")

    def write() -> None:
        with (files.place.folder / "in" / "slow.csv").open("w") as slow:
            slow.write("id,status,at\n")
            for number in range(20):
                slow.write(f"{number},new,1\n")
                slow.flush()
                os.utime(slow.name, (0, 0))
                time.sleep(0.2)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while writer.is_alive():
            files.place.sync()
            assert {file for file, _ in files.places()} <= {"marked.csv"}
    finally:
        writer.join()
    time.sleep(1.1)
    files.place.sync()
    assert files.places() == [("marked.csv", 1), *(("slow.csv", number) for number in range(1, 21))]


@of_files(
    "T84",
    "a file that has landed is replaced by one of the same size and time, under each word of `changed`",
    holds="the table stops and names the file; it is read again, and rows that it has no more are gone; or what landed stays",
)
@pytest.mark.parametrize("changed", ["fail", "again", "ignore"])
def test_a_file_that_is_another_one_since(files: FileStand, changed: str) -> None:
    files.configure(f", key: [id], changed: {changed}")
    files.put("a.csv", (1, "new", 1), (2, "new", 1))
    files.put("b.csv", (3, "new", 1))
    files.land()
    files.place.replace("a.csv", content((1, "fix", 1), (4, "new", 1)))
    if changed == "fail":
        assert "the file 'a.csv' (29 bytes) is no longer the one that landed" in files.refused()
        assert files.copy() == {1: "new", 2: "new", 3: "new"}
        files.place.sync(mode=Mode.FULL_REFRESH)
    else:
        files.land() if changed == "again" else files.place.sync()
    assert files.copy() == ({1: "new", 2: "new", 3: "new"} if changed == "ignore" else {1: "fix", 3: "new", 4: "new"})


@of_files(
    "T84",
    "a file goes, or is written, between the list and the read",
    holds="the sync stops and names the file, and nothing of the list lands; the next one lands what is there, once",
)
def test_a_file_that_goes_or_grows_before_it_is_read(files: FileStand) -> None:
    files.configure(table=EACH_ROW)
    files.put("a.csv", (1, "new", 1))
    files.put("b.csv", (2, "new", 1))
    files.put("c.csv", (3, "new", 1))
    process = Process("meets the folder as it changes")
    process.at["before snapshot"] = lambda: files.place.remove("b.csv")
    assert "the file 'b.csv' was listed, and has gone before it was read" in files.refused(process)
    process = Process("meets it again")
    process.at["before snapshot"] = lambda: files.place.append("c.csv", "4,new,1\n")
    assert "the file 'c.csv' was written while it was read" in files.refused(process)
    files.land()
    assert files.places() == [("a.csv", 1), ("c.csv", 1), ("c.csv", 2)]


@of_files(
    "T84",
    "files come late, with older rows of keys that the copy has, one of which is no number where one belongs",
    holds="no row goes back; what cannot land is in quarantine with file and number, and takes no newer row away",
)
def test_a_file_that_comes_late(files: FileStand) -> None:
    files.configure(BY_ORDER)
    files.put("2024-02.csv", (1, "paid", 20), (2, "paid", 20), (3, "new", 20))
    files.land()
    files.put("2024-03.csv", (1, "older", 10), (3, "sent", 30))
    files.put("2024-01.csv", (2, "older", 10), (2, "x", "ten"), (4, "new", None))
    files.land()
    assert files.copy() == {1: "paid", 2: "paid", 3: "sent", 4: "new"}
    assert files.place.quarantined() == [("2024-01.csv", "2", "at", "a text that is no bigint", "2")]


NAMES = (
    " .csv",
    "a\nb.csv",
    "50%.csv",
    "ä\u2028ß.csv",
    "a..b.csv",
    "'; drop.csv",
    '"q".csv',
    "a,b.csv",
    "%2e%2e/x.csv",
)


@of_files(
    "T84",
    "files are called with blanks, line breaks, quotes, `%`, `..` and letters of any script; others lie behind links, in a circle of links, and beside a pipe",
    holds="each lands once, under its name",
)
def test_files_with_any_name(folder_of_files: FileStand) -> None:
    files = folder_of_files
    files.configure(table=EACH_ROW)
    for name in NAMES:
        files.put(name, (1, "new", 1))
    folder = files.place.folder / "in"
    (folder / "back").symlink_to(folder)
    (folder / "linked.csv").symlink_to(folder / "50%.csv")
    os.mkfifo(folder / "pipe.csv")
    files.land()
    assert files.places() == sorted([(name, 1) for name in (*NAMES, "linked.csv")])


KEYS = (
    " .csv",
    "50%.csv",
    "%2e%2e/x.csv",
    "ä\u2028ß.csv",
    "a..b.csv",
    "'; drop.csv",
    '"q".csv',
    "a,b.csv",
    "a+b.csv",
    "日 本.csv",
)


@of_files(
    "T84",
    "objects of a store have keys with blanks, quotes, `+`, `%`, `..` and letters of any script",
    holds="each lands once, under its key",
)
def test_objects_with_any_key(files_in_store: FileStand) -> None:
    files = files_in_store
    files.configure(table=EACH_ROW)
    for key in KEYS:
        files.put(key, (1, "new", 1))
    files.land()
    assert files.places() == sorted([(key, 1) for key in KEYS])


BROKEN = (
    ("quote.csv", b'id,status,at\n1,"not closed,1\n2,new,1\n', "a quote is not closed"),
    ("none.csv", b"1,new,1\n2,new,1\n", "its first row names none of the columns"),
    ("cut.csv.gz", gzip.compress(b"id,status,at\n" + b"1,new,1\n" * 1000)[:-9], "is broken"),
)


@of_files(
    "T84",
    "rows that are too long or too short, values that their columns do not hold, no UTF-8, an empty file, one of a mark alone; a quote that is not closed, no header, a cut archive",
    holds="such rows are in quarantine with file and number, all others land; a broken file is named, and lands nothing of its list",
)
def test_files_that_are_broken(files: FileStand) -> None:
    files.configure(table=EACH_ROW)
    config = files.place.folder / "sources.yaml"
    config.write_text(config.read_text().replace("**/*.csv", "**/*.csv*"))
    files.place.put("empty.csv", "")
    files.place.put("mark.csv", "\ufeff")
    files.place.put(
        "rows.csv", b"\xef\xbb\xbfid,status,at\r\n1,new,1\r\n2\r\n3,new,1,1\r\nx,new,1\r\n5,\xff,1\r\n6,new,1\r\n"
    )
    files.land()
    assert files.places() == [("rows.csv", 1), ("rows.csv", 6)]
    assert [each[1:4] for each in files.place.quarantined()] == [
        ("2", None, "1 values where 3 are expected"),
        ("3", None, "4 values where 3 are expected"),
        ("4", "id", "a text that is no bigint"),
        ("5", "status", "a text that is no UTF-8"),
    ]
    for name, broken, why in BROKEN:
        files.place.put("good.csv", f"id,status,at\n7,{name},1\n")
        files.place.put(name, broken)
        refused = files.refused()
        assert f"the file {name!r} " in refused
        assert why in refused
        files.place.remove(name)
    files.land()
    assert files.places() == [("good.csv", 1), ("rows.csv", 1), ("rows.csv", 6)]
