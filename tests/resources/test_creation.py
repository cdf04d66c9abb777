"""Commands that first use a new DAGSTER_HOME at the same time: pairs of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from incremental_assets.resources import creation
from incremental_assets.resources.creation import opened

_USES = """
import os, sys
from incremental_assets.cli.dagster_runs import dagster_instance
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.resources.checkpoints import open_checkpoints
import dagster._core.storage.legacy_storage, dagster._core.storage.root

print("ready", flush=True)
for line in sys.stdin:
    home = line.strip()
    os.environ["DAGSTER_HOME"] = home
    try:
        with dagster_instance() as instance:
            instance.get_runs(limit=1)
            instance.all_instigator_state()
            instance.get_asset_keys()
        checkpoints = open_checkpoints(f"sqlite:///{home}.db")
        checkpoints.remember_catalogue("shop", ())
        checkpoints.close()
    except IncrementalAssetsError as error:
        print(error, flush=True)
    else:
        print("used", flush=True)
"""
_PAIRS = 6


class _Commands(subprocess.Popen[str]):
    """A process that has imported everything, and uses one home after the other."""

    def __init__(self) -> None:
        environment = os.environ | {"DAGSTER_DISABLE_TELEMETRY": "1"}
        super().__init__(
            [sys.executable, "-c", _USES], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, line: str) -> None:
        assert self.stdin is not None
        self.stdin.write(f"{line}\n")
        self.stdin.flush()

    def told(self) -> str:
        assert self.stdout is not None
        return self.stdout.readline().strip()


def test_two_commands_that_first_use_a_home_at_the_same_time_both_do(tmp_path: Path) -> None:
    with _Commands() as one, _Commands() as other:
        assert [one.told(), other.told()] == ["ready", "ready"]
        answers = []
        for number in range(_PAIRS):
            for each in (one, other):
                each.tell(str(tmp_path / f"home-{number}"))
            answers += [one.told(), other.told()]
        for each in (one, other):
            assert each.stdin is not None
            each.stdin.close()
    assert answers == ["used"] * 2 * _PAIRS


def test_what_another_program_makes_at_this_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation, "_POLL", 0.0)
    answers = iter(["table alembic_version already exists", "database is locked", ""])

    def opening() -> str:
        if words := next(answers):
            raise OperationalError("CREATE TABLE", {}, Exception(words))
        return "opened"

    assert opened(opening) == "opened"


def test_any_other_error_is_told_at_once() -> None:
    def opening() -> str:
        raise OperationalError("CREATE TABLE", {}, Exception("disk I/O error"))

    with pytest.raises(OperationalError, match="disk I/O error"):
        opened(opening)
