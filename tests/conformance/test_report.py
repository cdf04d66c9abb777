"""The report is written by what it reports, in parts that may be played on different days."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conformance import played
from tests.conformance.played import MAIN, NOT_HERE, Case, Played, Row, now_played, when_played
from tests.conformance.report import by_database, plays_all
from tests.conformance.sections import WAYS, Way, renew_soak, renew_way
from tests.conformance.soak.result import Result, Told

REPORT = "# Fault report\n\n## Scenarios\n\n| late | holds |\n\n## Bugs we do not have\n\n| none |\n"


def test_a_soak_takes_the_place_of_the_one_before_and_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    report, soak = tmp_path / "conformance.md", tmp_path / "soak.json"
    report.write_text(REPORT)
    for kills, faults in ((7, []), (90, ["life 3 is there 2 times"])):
        soak.write_text(
            json.dumps(
                asdict(
                    Result(
                        minutes=30.0,
                        kills=kills,
                        faults=faults,
                        tables={"lives": Told("settled", lost_settled=len(faults))},
                    )
                )
            )
        )
        renew_soak(report)
        before, _, after = report.read_text().partition("## Soak\n")
        told, bugs, rest = after.partition("## Bugs")
        assert before + bugs + rest == REPORT
        assert f"was killed {kills} times" in told
        assert f"**Lost under `settled`: {len(faults)}; doubled: 0;" in told


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_what_was_played_in_another_way_takes_the_place_of_the_section_before_it_and_leaves_the_rest(
    tmp_path: Path, way: Way
) -> None:
    report = tmp_path / "conformance.md"
    report.write_text(REPORT)
    (tmp_path / "soak.json").write_text(json.dumps(asdict(Result(minutes=30.0, kills=7))))
    renew_soak(report)
    for other in WAYS:
        if other is not way:
            _play(report, other, "holds")
    without = report.read_text()
    for held, outcome, result in ((0, "failed", "**FAILS**"), (1, "holds", "holds")):
        _play(report, way, outcome)
        before, _, after = report.read_text().partition(f"{way.heading}\n")
        told, heading, rest = after.partition("\n## ")
        assert before + heading[1:] + rest == without
        assert f"| T10 | killed | all equal | {result} | 7 |" in told
        assert f"**{held} of 1 hold**" in told
        assert "were not played so" not in told


def test_a_part_of_the_scenarios_in_another_way_adds_to_what_was_played_so_before(tmp_path: Path) -> None:
    report, way = tmp_path / "conformance.md", WAYS[0]
    report.write_text(REPORT)
    one, other = (f"tests/conformance/test_report.py::{name}" for name in ("_first", "_second"))
    Played({test: _row("holds", "day 1") for test in (one, other)}).save(report)
    _play(report, way, "failed")
    assert "**0 of 1 hold**" in report.read_text()
    assert "**1 of the scenarios above were not played so.**" in report.read_text()
    kept = Played.of(way.report(report))
    kept.renew({other: _row("holds", "day 2")}, {}, is_whole=False)
    kept.save(way.report(report))
    renew_way(report, way)
    assert "**1 of 2 hold**" in report.read_text()
    assert "were not played so" not in report.read_text()


def _play(report: Path, way: Way, outcome: str) -> None:
    row = Row({"number": "T10", "done": "killed", "holds": "all equal"}, "day 1", [Case(outcome, seconds=7.0)])
    Played({"tests/conformance/test_report.py::_first": row}).save(way.report(report))
    renew_way(report, way)


def test_each_database_has_its_column_of_what_was_played_on_it() -> None:
    held, spared = _row("holds", ""), Row({"number": "T2"}, "", [Case(NOT_HERE, "one writer")], "SQLite")
    late = Row({"number": "T1"}, "", [Case("failed"), Case("holds")], "MariaDB")
    assert list(by_database([held, held, late, spared]))[2:] == [
        "| T1 | 2 hold | 0 of 1 hold |  |  |  |  |  |  |  |  |  |",
        "| T2 |  |  |  | –: one writer |  |  |  |  |  |  |  |",
    ]


def test_what_is_played_again_on_one_database_renews_its_own_row(tmp_path: Path) -> None:
    here = "tests/conformance/test_report.py::_first"
    report = tmp_path / "conformance.md"
    elsewhere = f"{here} on MariaDB"
    Played({here: _row("holds", "day 1"), elsewhere: _row("failed", "day 1", "MariaDB")}).save(report)
    after = Played.of(report)
    after.renew({elsewhere: _row("holds", "day 2", "MariaDB")}, {}, is_whole=False)
    assert [(row.database, row.outcome, row.played) for row in after.rows.values()] == [
        ("PostgreSQL", "holds", "day 1"),
        ("MariaDB", "holds", "day 2"),
    ]


def test_a_part_that_is_played_again_renews_its_rows_and_what_is_no_test_any_more_is_left_out(tmp_path: Path) -> None:
    here = "tests/conformance/test_report.py::" + Path(__file__).stem
    one, other = here.replace("::test_report", "::_first"), here.replace("::test_report", "::_second")
    gone = here.replace("::test_report", "::was_here_once")
    report = tmp_path / "conformance.md"
    before = Played()
    before.renew({test: _row("failed", "day 1") for test in (one, other, gone)}, {}, is_whole=True)
    before.save(report)
    after = Played.of(report)
    after.renew({other: _row("holds", "day 2")}, {}, is_whole=False)
    assert {test: (row.outcome, row.played) for test, row in after.rows.items()} == {
        one: ("failed", "day 1"),
        other: ("holds", "day 2"),
    }
    after.renew({other: _row("not run", "day 3")}, {}, is_whole=False)
    assert after.rows[other].played == "day 2"
    after.renew({other: _row("holds", "day 3")}, {}, is_whole=True)
    assert list(after.rows) == [other]


def test_what_a_cluster_has_played_stays_when_all_the_rest_is_played(tmp_path: Path) -> None:
    here = "tests/conformance/test_report.py::_first"
    rows = Played({f"{here} on a cluster": _row("holds", "day 1", "a cluster"), here: _row("holds", "day 1")})
    rows.renew({}, {}, is_whole=True)
    assert [*rows.rows] == [f"{here} on a cluster"]


def test_a_scenario_that_begins_later_says_so_and_the_report_has_the_first_and_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Clock:
        at = datetime(2024, 1, 1, 23, 50, tzinfo=UTC)

        @classmethod
        def now(cls, _zone: object) -> datetime:
            cls.at += timedelta(minutes=20)
            return cls.at

    monkeypatch.setattr(played, "datetime", Clock)
    monkeypatch.setattr(played, "_commit", lambda: "abc")
    rows = [_row("holds", now_played()) for _ in range(3)]
    assert when_played(rows[::-1]) == "from 2024-01-02 00:10 abc to 2024-01-02 00:50 abc"
    assert when_played(rows[:1]) == "at 2024-01-02 00:10 abc"


def _row(outcome: str, played: str, database: str = MAIN) -> Row:
    return Row({"number": "T1", "done": "late", "holds": "all"}, played, [Case(outcome)], database)


def _first() -> None:
    """Stands for a scenario."""


def _second() -> None:
    """Stands for a scenario."""


@pytest.mark.parametrize(
    ("arguments", "options", "all_of_it"),
    [
        (["tests/conformance", "tests/model/test_mutants.py"], {}, True),
        (["tests/conformance", "tests/model/test_mutants.py"], {"keyword": "clock"}, False),
        (["tests/conformance", "tests/model/test_mutants.py"], {"markexpr": "not slow"}, False),
        (["tests/conformance", "tests/model/test_mutants.py"], {"cluster": True}, False),
        (["tests/conformance/test_clock.py", "tests/model/test_mutants.py"], {}, False),
        (["tests/conformance"], {}, False),
    ],
)
def test_some_files_or_some_tests_of_them_leave_the_other_rows_as_they_were(
    arguments: list[str], options: dict[str, object], all_of_it: bool
) -> None:
    given = Namespace(**{"keyword": "", "markexpr": "", "deselect": None, **options})
    assert plays_all(arguments, given) is all_of_it
