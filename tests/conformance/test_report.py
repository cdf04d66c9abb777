"""The report is written by what it reports, in parts that may be played on different days."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.conformance.report import renew_soak
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
