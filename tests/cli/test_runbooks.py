"""Each alert has its runbook, of the same parts, and the commands in it run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from incremental_assets.core.operations.rules import alerts
from tests.cli.conftest import CONFIG, Call, Outside

RUNBOOKS = Path(__file__).parents[2] / "docs" / "runbooks"
PARTS = ["Is it meant to be still?", "What you see", "Look", "Fix", "Verify"]
OF = {alert.runbook: alert for alert in alerts()}
ELSEWHERE = ("doctor", "capture")
"""They ask a real database and this machine, which the fakes are not; their own tests run them."""


def text(runbook: str) -> str:
    return (RUNBOOKS / f"{runbook}.md").read_text(encoding="utf-8")


def test_every_alert_has_its_runbook_and_no_runbook_is_of_another() -> None:
    assert {file.stem for file in RUNBOOKS.glob("*.md")} == set(OF)


@pytest.mark.parametrize("runbook", sorted(OF))
def test_a_runbook_names_its_alert_and_asks_first_whether_it_is_meant(runbook: str) -> None:
    assert f"`IncrementalAssets{OF[runbook].name}`" in text(runbook)
    assert re.findall(r"^## (.+)$", text(runbook), re.MULTILINE) == PARTS


def commands() -> list[str]:
    blocks = [block for name in OF for block in re.findall(r"```bash\n(.*?)```", text(name), re.DOTALL)]
    return sorted({line for block in blocks for line in block.splitlines()})


@pytest.mark.parametrize("line", [each for each in commands() if each.split()[1] not in ELSEWHERE])
def test_a_command_of_a_runbook_runs(line: str, call: Call, synced: Outside, config: Path) -> None:
    config.write_text(CONFIG + "        contract: {id: {nullable: false}}\n")
    said = call(*shlex.split(line)[1:])

    assert said.code == 0, said.err
    assert said.out


def test_the_commands_that_are_not_run_here_are_few() -> None:
    left = {each.split()[1] for each in commands() if each.split()[1] in ELSEWHERE}
    assert left == set(ELSEWHERE)
