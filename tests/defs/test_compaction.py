"""At the end of a sync's run files are put together, after everything was told and without a say in how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterEventType, DagsterInstance, ExecuteInProcessResult

from incremental_assets.core.model.compaction import How
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from tests.defs.studio import TERMS, Studio, opened
from tests.fakes import FakeLake
from tests.scenario import order


def landing(studio: Studio) -> ExecuteInProcessResult:
    """A run that leaves so many small files that putting them together pays."""
    studio.world.lake.small_files = 100
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z")
    return studio.run("2024-01-01", mode="sync")


def observed(result: ExecuteInProcessResult) -> list[dict[str, Any]]:
    events = [event for event in result.all_events if event.event_type is DagsterEventType.ASSET_OBSERVATION]
    return [
        {name: value.value for name, value in event.asset_observation_data.asset_observation.metadata.items()}
        for event in events
    ]


def test_it_is_told_as_an_observation_once_the_result_has_been_told(studio: Studio) -> None:
    result = landing(studio)
    (told,) = observed(result)
    kinds = [event.event_type for event in result.all_events]

    assert (told["files_before"], told["files"], told["maintenance"]) == (
        100,
        1,
        "100 of 100 files are small and become 1",
    )
    assert kinds.index(DagsterEventType.ASSET_MATERIALIZATION) < kinds.index(DagsterEventType.ASSET_OBSERVATION)
    assert studio.run("2024-01-01", mode="sync").success


def test_a_source_that_says_never_is_left_alone(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = opened(tmp_path, instance, TERMS, "defaults: {maintenance: {compact: never}}\n")
    result = landing(studio)
    assert result.success
    assert observed(result) == []


def test_a_failure_in_it_fails_no_run(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: FakeLake, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        raise OSError("no space left")

    monkeypatch.setattr(FakeLake, "compact", broken)
    result = landing(studio)
    assert result.success
    assert studio.announced() == ["2024-01-01"]
    assert observed(result) == []
