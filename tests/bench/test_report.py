"""The benchmark's document says what the figures say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import report, targets
from bench.backlog import AT_ONCE, FEW
from bench.blocked import BLOCKED, CALM, FIRST
from bench.comparing import COMPARED, WHOLE
from bench.dropped import FIRST as FIRST_FILES
from bench.dropped import TICK
from bench.figures import Played, Result, Results, Round, Span
from bench.names import DLT, DLT_FILES, ENGINE, MARIADB, OURS, POSTGRESQL, SESSION, SPARK_STREAM
from bench.overhead import WAYS as WATCHED
from bench.report import document, with_count
from bench.store import FOLDER, LATE, MANY, ONE, STORE
from bench.targets import TARGETS, UNPLAYED, Target, late_over_early, most, ratio

MACHINE = {
    "processor": "Some CPU", "cores": 2, "memory_gib": 24, "system": "Linux 6", "python": "3.11.9", "java": "17.0.1",
    "postgresql": "18.1",
}  # fmt: skip
PICTURE = Path("images/benchmarks.svg")


def rounds(*walls: float, **more: float) -> tuple[Round, ...]:
    return tuple(Round(wall, **more) for wall in walls)  # type: ignore[arg-type]


def result(name: str, *played: Played) -> Result:
    return Result(name, "a load", 6_000_000, 6_000_000, "abc1234", "2026-11-22 01:00 UTC", (0.1, 1.9), 5.0, played)


def results(*workloads: Result) -> Results:
    return Results(MACHINE, {"dlt": "1.31.0"}, minutes=38.2, workloads=workloads)


LOADED = results(result("F1", Played(OURS, rounds(21.0, 20.0, 25.0)), Played(DLT, rounds(20.0, 19.0, 30.0))))


def test_the_median_counts_and_not_the_mean() -> None:
    assert LOADED.median("F1", OURS, "wall") == 21.0


def test_a_ratio_is_median_to_median() -> None:
    assert ratio("F1", OURS, DLT)(LOADED) == pytest.approx(1.05)


def test_a_target_is_met_at_its_limit_and_missed_above_it() -> None:
    at_limit = Target("F1", "as quick", 1.05, ratio("F1", OURS, DLT))
    assert at_limit.verdict(LOADED) == (pytest.approx(1.05), "met")
    assert replace(at_limit, at_most=1.04).verdict(LOADED)[1] == "missed"


def test_what_was_not_played_is_not_measured() -> None:
    assert Target("I2", "warm", 1.2, ratio("I1", ENGINE, DLT)).verdict(LOADED) == (None, "not measured yet")


def test_a_contender_that_failed_has_no_time_whatever_it_did_before() -> None:
    failed = results(result("F1", Played(OURS, rounds(9.0)), Played(DLT, rounds(1.0, 1.0), failed="exit 1: no memory")))
    assert ratio("F1", OURS, DLT)(failed) is None


def test_the_document_shows_each_figure_of_a_contender_in_its_line() -> None:
    page = document(LOADED, PICTURE)
    assert f"| {OURS} | 3 | 21.00 | 20.00 to 25.00 | 1.00x |" in page
    assert f"| {DLT} | 3 | 20.00 | 19.00 to 30.00 | 0.95x |" in page
    assert "| 285,714 |" in page


def test_the_document_shows_a_missed_target_as_missed_with_its_ratio() -> None:
    page = document(LOADED, PICTURE)
    assert "| F1 | first load, whole process, to dlt | ≤ 0.70x | 1.05x | **missed** |" in page
    assert "| F2 | first load, warm session, to plain Spark JDBC → Parquet | ≤ 1.05x |  | not measured yet |" in page


def test_a_target_that_is_missed_by_a_hair_does_not_read_as_one_that_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    by_a_hair = results(result("F1", Played(OURS, rounds(14.04)), Played(DLT, rounds(20.0))))
    at_once = Target("F1", "at once", 14.0, most("F1", OURS, "wall", 1.0), "s")
    monkeypatch.setattr(report, "TARGETS", (Target("F1", "to dlt", 0.7, ratio("F1", OURS, DLT)), at_once))
    page = document(by_a_hair, PICTURE)
    assert "| F1 | to dlt | ≤ 0.70x | 0.7020x | **missed** |" in page
    assert "| F1 | at once | ≤ 14.0 s | 14.040 s | **missed** |" in page


def test_the_document_counts_the_verdicts_of_all_targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Its figures are those that were measured last, whatever they are.
    monkeypatch.setattr(targets, "THOUSAND", tmp_path / "not measured")
    line = next(line for line in document(LOADED, PICTURE).splitlines() if line.startswith("Of "))
    said = dict(reversed(part.split(" ", 1)) for part in line.split(": ")[1].rstrip(".").split(", "))
    assert sum(map(int, said.values())) == len(TARGETS)
    assert said["missed"] == "1"


def test_the_document_says_why_a_contender_failed() -> None:
    failed = Played(DLT, rounds(1.0), failed="public.lineitem: its copy has 5 rows and the source 6")
    page = document(results(result("F1", Played(OURS, rounds(2.0)), failed)), PICTURE)
    assert f"* **{DLT}** failed: public.lineitem: its copy has 5 rows and the source 6" in page
    assert f"| {DLT} |" not in page


def test_the_document_says_that_some_were_measured_once() -> None:
    slow = results(result("F1", Played(OURS, rounds(20.0, 20.0, 20.0)), Played(DLT, rounds(99.0))))
    assert "measured once" in document(slow, PICTURE)
    assert "measured once" not in document(LOADED, PICTURE)


def test_the_last_tick_of_a_row_is_held_against_the_fifth() -> None:
    seconds = [9.0, 9.0, 2.0, 2.2, 2.0, 1.8, 2.0, 5.0, 3.0, 3.0, 2.9, 3.1, 3.0]
    played = Played(SESSION, tuple(Round(wall=0.0, inside=each) for each in seconds))
    assert late_over_early("G", SESSION)(results(result("G", played))) == pytest.approx(1.5)


def test_memory_is_the_most_of_all_rounds() -> None:
    played = Played(OURS, (Round(1.0, python=100), Round(1.0, python=300), Round(1.0, python=200)))
    assert most("M", OURS, "python", 100)(results(result("M", played))) == 3.0


def test_the_profile_adds_up_to_the_whole() -> None:
    spans = (
        Span("Python starts", 0.2),
        Span("Spark: session", 2.5),
        Span("apply: the commit", 1.31),
        Span("tiny", 0.01),
    )
    page = document(replace(LOADED, profiles={OURS: spans}), PICTURE)
    assert f"{OURS}, one tick of I1: 4.0 s." in page
    assert "| Spark: session | 2.5 | 62% |" in page
    assert "tiny" not in page


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = replace(LOADED, profiles={OURS: (Span("Python starts", 0.2),)})
    written.write(tmp_path / "benchmarks.json")
    assert Results.read(tmp_path / "benchmarks.json") == written


def test_a_workload_played_again_takes_its_old_place() -> None:
    both = results(result("F1", Played(OURS, rounds(1.0))), result("F3", Played(OURS, rounds(2.0))))
    again = both.with_workload(result("F1", Played(OURS, rounds(5.0))))
    assert [each.name for each in again.workloads] == ["F1", "F3"]
    assert again.median("F1", OURS, "wall") == 5.0


def test_where_everything_is_played_again_what_is_played_by_name_alone_stays() -> None:
    before = replace(LOADED, large={"rows": 100_000_000}, names={"rows": 1_000_000}, drift={"rows": 10_000_000})
    assert before.anew() == Results(large={"rows": 100_000_000}, names={"rows": 1_000_000})


def test_what_drift_costs_is_told_where_it_was_played_and_only_there() -> None:
    step = {"told": "`sync`: 100 rows are gone", "seconds": 4.2, "cpu": 6.0, "lines": 4310, "read": 0}
    played = {
        "rows": 10_000_000,
        "commit": "abc1234",
        "at": "2026-11-25 06:00 UTC",
        "load": [0.1, 1.2],
        "steps": [{**step, "key_index_scans": 3, "table_scans": 0}],
    }
    told = document(replace(LOADED, drift=played), PICTURE)
    assert "### D: drift and deletes in a table of 10,000,000 rows" in told
    assert "| `sync`: 100 rows are gone | 4.2 | 6.0 | 4,310 | 0 |" in told
    assert "counted 3 scans of the key's index" in told
    assert "and 0 of the whole table" in told
    assert "### D:" not in document(LOADED, PICTURE)
    assert "### D:" in document(Results(drift=played), PICTURE), "and alone"


def test_what_a_large_table_costs_is_told_where_it_was_played_and_only_there() -> None:
    step = {"told": "10,000,000 changed rows", "seconds": 51.0, "cpu": 88.0, "lines": None, "read": 10_000_000}
    played = {
        "rows": 100_000_000,
        "tables": [10_000_000, 100_000_000],
        "heap": "2 GB",
        "commit": "abc1234",
        "at": "2026-11-25 06:00 UTC",
        "load": [0.1, 1.2],
        "steps": [{**step, "lake": 73_400_320, "peak": 2**30, "java": 2**28, "python": 2**29}],
    }
    told = document(replace(LOADED, large=played), PICTURE)
    assert "### L: a table of 10,000,000 rows, and one of 100,000,000 rows" in told
    assert "in a JVM whose heap is 2 GB" in told
    assert "| 10,000,000 changed rows | 51.0 | 88.0 | 10,000,000 | 70.0 MiB | 1.0 GiB | 256.0 MiB | 512.0 MiB |" in told
    assert "### L:" not in document(LOADED, PICTURE)


def test_that_memory_is_flat_is_told_by_the_largest_step_of_each_of_two_tables() -> None:
    steps = [{"python": python * 2**20} for python in (300, 320, 310, 330, 384, 340)]
    both = Results(large={"tables": [20_000_000, 200_000_000], "steps": steps})
    most, times = (target.verdict(both) for target in TARGETS if target.workload == "L")
    assert (most, times) == ((384.0, "met"), (1.2, "met"))
    alone = Results(large={"tables": [200_000_000], "steps": steps})
    assert [target.verdict(alone)[1] for target in TARGETS if target.workload == "L"] == [UNPLAYED, UNPLAYED]


def test_how_fresh_a_copy_is_is_told_where_it_was_played_and_has_its_target() -> None:
    played = {
        "rows": 50,
        "every": 1,
        "commit": "abc1234",
        "at": "2026-11-27 06:00 UTC",
        "load": [0.1, 1.2],
        "seconds": [2.0, 3.0, 2.5, 3.5, 4.0],
        "parts": [[0.5, 0.6, 0.2, 0.7], [1.5, 0.4, 0.2, 0.9]],
    }
    found = replace(LOADED, freshness=played)
    told = document(found, PICTURE)
    assert "### Q: from the commit until the row is seen, by the sensor at `every: 1s`" in told
    assert "| seconds | 3.00 | 3.98 | 2.00 | 4.00 |" in told
    assert "2 of them were landed by a run that was requested for them" in told
    assert "| until the row is seen | 0.80 |" in told
    assert "### Q:" not in document(LOADED, PICTURE)
    (target,) = [target for target in TARGETS if target.workload == "Q"]
    assert target.verdict(found) == (pytest.approx(3.98), "met")
    assert target.verdict(LOADED) == (None, "not measured yet")
    assert "### Q:" in document(replace(found, freshness={**played, "parts": []}), PICTURE), (
        "though every row came with another"
    )


def test_how_fast_a_backlog_of_the_log_lands_is_told_where_it_was_played_and_has_its_targets() -> None:
    step = {"told": "500,000 changes at once", "cpu": 4.0, "lines": None, "read": 400_000, "way": AT_ONCE}
    played = {
        "rows": 500_000,
        "commit": "abc1234",
        "at": "2026-11-27 21:00 UTC",
        "load": [0.1, 1.2],
        "steps": [{**step, "seconds": seconds} for seconds in (4.0, 5.0, 9.0)] + [{**step, "seconds": 4.0, "way": FEW}],
    }
    found = replace(LOADED, backlog=played)
    told = document(found, PICTURE)
    assert "### B: a backlog of 500,000 changes in PostgreSQL's log" in told
    assert "| 500,000 changes at once | 5.0 | 4.0 | 100,000 | 400,000 |" in told
    assert "### B:" not in document(LOADED, PICTURE)
    at_once, few = [target for target in TARGETS if target.workload == "B"]
    assert at_once.verdict(found) == (10.0, "missed")
    assert few.verdict(found) == (8.0, "met")
    assert few.verdict(LOADED) == (None, "not measured yet")


def test_what_a_tick_costs_beside_an_open_transaction_is_told_where_it_was_played_and_has_its_target() -> None:
    ways = [(CALM, 0.2), (CALM, 0.3), (CALM, 0.4), (FIRST, 9.0), (BLOCKED, 0.5), (BLOCKED, 0.7)]
    played = {
        "rows": 5_000,
        "commit": "abc1234",
        "at": "2026-11-30 21:00 UTC",
        "load": [0.1, 1.2],
        "steps": [{"way": way, "seconds": seconds, "cpu": 2 * seconds} for way, seconds in ways],
    }
    found = replace(LOADED, blocked=played)
    told = document(found, PICTURE)
    assert "### O: a transaction that stays open under 5,000 MiB of PostgreSQL's log" in told
    assert "| 3 ticks with nothing open | 0.30 | 0.60 |" in told
    assert "| 1 tick beside it, the first one | 9.00 | 18.00 |" in told
    assert "### O:" not in document(LOADED, PICTURE)
    (target,) = [target for target in TARGETS if target.workload == "O"]
    assert target.verdict(found) == (pytest.approx(2.0), "met")
    assert target.verdict(LOADED) == (None, "not measured yet")


def test_what_observing_costs_is_the_median_of_pairs_is_told_where_it_was_played_and_has_its_target() -> None:
    seconds = [(1.0, 1.1), (2.0, 2.0), (4.0, 4.1)]
    played = {
        "rows": 1_000_000,
        "commit": "abc1234",
        "at": "2026-11-30 21:00 UTC",
        "load": [0.1, 1.2],
        "steps": [
            {"way": way, "seconds": took, "cpu": took}
            for pair in seconds
            for way, took in zip(WATCHED, pair, strict=True)
        ],
    }
    found = replace(LOADED, overhead=played)
    told = document(found, PICTURE)
    assert "### V: 3 ticks with traces and metrics, and 3 without" in told
    assert "| observed by nobody | 2.000 | 2.000 |" in told
    assert "| ratio | 1.025x | 1.025x |" in told
    assert "### V:" not in document(LOADED, PICTURE)
    (target,) = [target for target in TARGETS if target.workload == "V"]
    assert target.verdict(found) == (pytest.approx(1.025), "met")
    assert target.verdict(LOADED) == (None, "not measured yet")


def test_how_soon_a_stream_of_the_log_is_seen_is_told_where_it_was_played_and_has_its_targets() -> None:
    step = {
        "rate": 1_000,
        "transactions": 60_000,
        "changes": 600_000,
        "half": 1.25,
        "most": 5.5,
        "longest": 7.0,
        "cores": 0.3,
    }
    played = {
        "rows": 100_000,
        "tables": 8,
        "for": 600,
        "commit": "abc1234",
        "at": "2026-11-29 15:00 UTC",
        "load": [0.1, 1.2],
        "steps": [step, {**step, "rate": 10_000, "half": 1.75}],
    }
    found = replace(LOADED, stream=played)
    told = document(found, PICTURE)
    assert "### S: a stream of changes in PostgreSQL's log, over 8 tables" in told
    assert "| 1,000 | 60,000 | 1.25 | 5.50 | 7.00 | 0.30 |" in told
    assert "### S:" not in document(LOADED, PICTURE)
    verdicts = [target.verdict(found) for target in TARGETS if target.workload == "S"]
    assert verdicts == [(1.25, "met"), (5.5, "missed"), (0.3, "met"), (1.75, "met"), (5.5, "met")]
    assert {target.verdict(LOADED)[1] for target in TARGETS if target.workload == "S"} == {"not measured yet"}


def test_how_fast_a_backlog_of_a_topic_lands_is_told_beside_spark_and_has_its_targets() -> None:
    ways = [(SESSION, 10.0), (SPARK_STREAM, 70.0), (SPARK_STREAM, 80.0), (SESSION, 30.0), (SESSION, 25.0), (SPARK_STREAM, 75.0)]  # fmt: skip
    step = {"cpu": 4.0, "lines": None, "read": None}
    played = {
        "rows": 500_000,
        "commit": "abc1234",
        "at": "2026-11-30T21:00 UTC",
        "load": [0.1, 1.2],
        "steps": [{**step, "told": f"500,000 changes by {way}", "way": way, "seconds": seconds} for way, seconds in ways],
    }  # fmt: skip
    found = replace(LOADED, topic=played)
    told = document(found, PICTURE)
    assert "### T: a backlog of 500,000 changes in a topic of Kafka" in told
    assert f"| 500,000 changes by {SESSION} | 10.0 | 4.0 | 50,000 |" in told
    assert f"| 500,000 changes by {SPARK_STREAM} | 80.0 | 4.0 | 6,200 |" in told
    assert "### T:" not in document(LOADED, PICTURE)
    seconds, to_spark = [target for target in TARGETS if target.workload == "T"]
    assert seconds.verdict(found) == (50.0, "missed")
    assert to_spark.verdict(found) == (pytest.approx(1 / 3), "missed")
    assert {target.verdict(LOADED)[1] for target in (seconds, to_spark)} == {"not measured yet"}


def test_what_many_files_cost_is_told_beside_dlt_and_has_its_target() -> None:
    step = {"cpu": 20.0, "peak": 2**30, "what": FIRST_FILES}
    walls = [(OURS, 9.0), (DLT_FILES, 80.0), (DLT_FILES, 60.0), (OURS, 14.0), (OURS, 12.0), (DLT_FILES, 50.0)]
    steps = [{**step, "way": way, "seconds": seconds} for way, seconds in walls]
    played = {
        "rows": 10_000,
        "commit": "abc1234",
        "at": "2026-11-30 21:00 UTC",
        "load": [0.1, 1.2],
        "steps": [*steps, {**step, "what": TICK, "way": OURS, "seconds": 4.0}],
    }
    found = replace(LOADED, files=played)
    told = document(found, PICTURE)
    assert "### X: 10,000 Parquet files of 1,000 rows each in a folder" in told
    assert f"| first sync of 10,000 files | {OURS} | 3 | 12.00 | 9.00 to 14.00 | 20.00 | 1.0 GiB |" in told
    assert f"| tick: 10 new files | {OURS} | 1 | 4.00 |" in told
    assert "### X: 10,000" not in document(LOADED, PICTURE)
    (target,) = [target for target in TARGETS if target.told.startswith("ten thousand")]
    assert target.verdict(found) == (pytest.approx(0.2), "met")
    assert target.verdict(LOADED) == (None, "not measured yet")


def test_looks_at_many_names_are_told_and_the_first_does_not_count() -> None:
    looks = [{"told": f"look {number}", "cpu": 2.0, "python": 2**29} for number in (1, 2, 3)]
    played = {
        "rows": 1_000_000,
        "commit": "abc1234",
        "at": "2026-11-30 21:00 UTC",
        "load": [0.1, 1.2],
        "steps": [{**each, "seconds": seconds} for each, seconds in zip(looks, (9.0, 2.5, 1.0), strict=True)],
    }
    found = replace(LOADED, names=played)
    told = document(found, PICTURE)
    assert "### X: looks at a folder of 1,000,000 files, none of them new" in told
    assert "| look 2 | 2.50 | 2.0 | 512.0 MiB |" in told
    assert "### X: looks" not in document(LOADED, PICTURE)
    (target,) = [target for target in TARGETS if target.told.startswith("a look at")]
    assert target.verdict(found) == (1.75, "met")
    assert target.verdict(LOADED) == (None, "not measured yet")


def test_what_a_store_costs_is_told_beside_a_folder_and_has_its_targets() -> None:
    walls = {FOLDER: (1.0, 3.0), STORE: (1.25, 5.0), LATE: (3.5, 9.0)}
    steps = [
        {"way": way, "tables": tables, "seconds": seconds, "cpu": 1.0, "requests": None, "bytes": None}
        for way, both in walls.items()
        for tables, seconds in zip((ONE, MANY), both, strict=True)
    ]
    counted = [{**each, "requests": 29, "bytes": 2**20} if each["way"] == LATE else each for each in steps]
    played = {
        "rows": 10_000,
        "changed": 100,
        "commit": "abc1234",
        "at": "2026-11-30 21:00 UTC",
        "load": [0.1, 1.2],
        "steps": counted,
    }
    found = replace(LOADED, store=played)
    told = document(found, PICTURE)
    assert "### Y: ticks into a lake in a store, 100 changed rows of 10,000 in each table" in told
    assert "| 1 table into a folder | 1 | 1.00 | 1.00 to 1.00 | 1.00 |  |  |" in told
    assert "| 50 tables into a store, each request 20 ms late | 1 | 9.00 | 9.00 to 9.00 | 1.00 | 29 | 1.0 MiB |" in told
    assert "### Y:" not in document(LOADED, PICTURE)
    verdicts = [target.verdict(found) for target in TARGETS if target.workload == "Y"]
    assert verdicts == [(1.25, "met"), (pytest.approx(1.67, abs=0.01), "missed"), (3.5, "missed"), (3.0, "met")]
    assert {target.verdict(LOADED)[1] for target in TARGETS if target.workload == "Y"} == {"not measured yet"}


def test_what_a_comparison_costs_is_told_beside_a_full_refresh_and_has_its_targets() -> None:
    step = {
        "told": "`compare`",
        "seconds": 4.0,
        "cpu": 6.0,
        "lines": 9310,
        "read": 612,
        "lake": 40_000,
        "way": COMPARED,
    }
    whole = {
        **step,
        "told": "`full_refresh`",
        "seconds": 16.0,
        "lines": None,
        "read": 10_000_000,
        "lake": 60_000_000,
        "way": WHOLE,
    }
    others = [{**step, "seconds": seconds, "read": read} for seconds, read in ((3.0, 600), (9.0, 5_200))]
    played = {
        "rows": 10_000_000,
        "commit": "abc1234",
        "at": "2026-11-25 06:00 UTC",
        "load": [0.1, 1.2],
        "steps": [step, whole, *others],
        "sent": {COMPARED: 3_145_728, WHOLE: 734_003_200},
    }
    found = replace(LOADED, compare=played)
    page = document(found, PICTURE)
    assert "### C: 500 changed rows of 10,000,000" in page
    assert "| `compare` | 3 | 4.0 | 3.0 to 9.0 | 6.0 | 9,310 | 612 | 3.0 MiB | 0.0 MiB |" in page
    assert "| `full_refresh` | 1 | 16.0 | 16.0 to 16.0 | 6.0 |  | 10,000,000 | 700.0 MiB | 57.2 MiB |" in page
    assert [target.verdict(found) for target in TARGETS if target.workload == "C"] == [(612, "met")]
    assert {target.verdict(LOADED)[1] for target in TARGETS if target.workload == "C"} == {"not measured yet"}


def test_another_database_is_told_beside_postgresql_and_has_its_targets() -> None:
    load = result("DB load", Played(MARIADB, rounds(14.0, 16.0, 15.0)), Played(POSTGRESQL, rounds(10.0, 9.0, 11.0)))
    tick = result("DB tick", Played(MARIADB, rounds(5.0)), Played(POSTGRESQL, rounds(4.0)))
    found = results(load, tick)
    assert [target.verdict(found) for target in TARGETS if target.workload == "DB"] == [(1.5, "met"), (1.25, "missed")]
    page = document(found, PICTURE)
    assert page.index("### DB load") < page.index("### DB tick")
    assert "| MariaDB | 3 | 15.00 | 14.00 to 16.00 | 1.50x |" in page


def test_a_database_that_failed_is_told_and_its_targets_are_open() -> None:
    failed = Played(MARIADB, rounds(14.0), failed="the copy of lineitem comes to 5, and the source to 6")
    found = results(result("DB load", failed, Played(POSTGRESQL, rounds(10.0))))
    assert "* **MariaDB** failed: the copy of lineitem comes to 5, and the source to 6" in document(found, PICTURE)
    assert {target.verdict(found) for target in TARGETS if target.workload == "DB"} == {(None, "not measured yet")}


def test_the_readme_takes_the_count_of_the_results_and_keeps_its_other_words() -> None:
    readme = "In short:\n\n* 7 of 9 targets are met; 1 are not measured yet.\n* A sync takes 1.2 s.\n"
    count = next(line for line in with_count(readme, LOADED).splitlines() if "targets" in line)
    verdicts = [target.verdict(LOADED)[1] for target in TARGETS]
    assert (
        count
        == f"* {verdicts.count('met')} of {len(TARGETS)} targets are met; {len(TARGETS) - 2} are not measured yet."
    )
    assert with_count(readme, LOADED).replace(count, "") == "In short:\n\n\n* A sync takes 1.2 s.\n"
