"""Each alert has its runbook, as some of their causes have, of the same parts; and every command in them was run, here or in a game."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from incremental_assets.core.operations.rules import alerts
from tests.cli.conftest import CONFIG, Call, Outside

DOCS = Path(__file__).parents[2] / "docs"
RUNBOOKS = DOCS / "runbooks"
PARTS = ["Is it meant to be still?", "What you see", "Look", "Fix", "Verify"]
OF = {alert.runbook: alert for alert in alerts()}
ALL = sorted(file.stem for file in RUNBOOKS.glob("*.md"))
CAUSES = sorted({*ALL} - {*OF})
GAMES = json.loads((DOCS / "gameday.json").read_text(encoding="utf-8")).values()
IN_GAMES = {(step["part"].partition(", ")[2], step["line"]) for game in GAMES for step in game["steps"]}
ELSEWHERE = ("doctor", "capture")
"""They ask a real database and this machine, which the fakes are not; their own tests run them, and games."""


def text(runbook: str) -> str:
    return (RUNBOOKS / f"{runbook}.md").read_text(encoding="utf-8")


def test_every_alert_has_its_runbook() -> None:
    assert {*OF} <= {*ALL}


@pytest.mark.parametrize("runbook", sorted(OF))
def test_a_runbook_names_its_alert(runbook: str) -> None:
    assert f"`IncrementalAssets{OF[runbook].name}`" in text(runbook)


@pytest.mark.parametrize("runbook", CAUSES)
def test_a_runbook_of_a_cause_is_reached_from_that_of_the_alert_which_it_names(runbook: str) -> None:
    (alert,) = re.findall(r"`IncrementalAssets(\w+)`", text(runbook).split("\n## ")[0])[:1]
    (leads,) = (each.runbook for each in {one.name: one for one in alerts()}.values() if each.name == alert)
    assert f"]({runbook}.md)" in text(leads)


@pytest.mark.parametrize("runbook", ALL)
def test_a_runbook_asks_first_whether_it_is_meant(runbook: str) -> None:
    assert re.findall(r"^## (.+)$", text(runbook), re.MULTILINE) == PARTS


def commands(*runbooks: str) -> list[str]:
    blocks = [block for name in runbooks for block in re.findall(r"```bash\n(.*?)```", text(name), re.DOTALL)]
    return sorted({line for block in blocks for line in block.splitlines()})


def is_of_fakes(line: str) -> bool:
    """Theirs are no disk and no table that is read from a log."""
    program, command, *_ = line.split()
    return program == "incremental-assets" and command not in ELSEWHERE and "baskets" not in line


@pytest.mark.parametrize("line", [each for each in commands(*OF) if is_of_fakes(each)])
def test_a_command_of_a_runbook_runs(line: str, call: Call, synced: Outside, config: Path) -> None:
    config.write_text(CONFIG + "        contract: {id: {nullable: false}}\n")
    said = call(*shlex.split(line)[1:])

    assert said.code == 0, said.err
    assert said.out


def test_the_commands_that_are_not_run_here_are_few() -> None:
    left = {each.split()[1] for each in commands(*OF) if each.split()[1] in ELSEWHERE}
    assert left == set(ELSEWHERE)


@pytest.mark.parametrize("runbook", CAUSES)
def test_a_runbook_of_a_cause_was_followed_word_for_word_in_a_game(runbook: str) -> None:
    assert {(runbook, line) for line in commands(runbook)} <= IN_GAMES
