"""Dagster's migrations are read once in a process, and say the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.script.base import Script
from dagster import DagsterInstance, asset, materialize

from incremental_assets.cli.dagster_runs import dagster_instance
from incremental_assets.resources import migrations

SHIPPED = Path(__file__).parents[2]


@asset
def table() -> None: ...


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The scripts that were read, in a process that has read none."""
    (tmp_path / "dagster.yaml").symlink_to(SHIPPED / "dagster.yaml")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setattr(ScriptDirectory, "from_config", migrations._from_config)
    migrations.of_dagster.cache_clear()
    paths: list[Path] = []
    of_path = Script._from_path

    def noted(scripts: ScriptDirectory, path: Path) -> Script | None:
        paths.append(path)
        return of_path(scripts, path)

    monkeypatch.setattr(Script, "_from_path", noted)
    return paths


def versions(opened: Callable[[], AbstractContextManager[DagsterInstance]]) -> list[tuple[str | None, object]]:
    """Of the files of the instance, each with the newest that Dagster knows; a run is stored first."""
    with opened() as instance:
        assert materialize([table], instance=instance).success
        return [
            storage.alembic_version()  # type: ignore[attr-defined]
            for storage in (instance.run_storage, instance.event_log_storage, instance.schedule_storage)
        ]


def test_runs_of_a_command_on_a_new_instance_and_on_one_that_is_there_read_each_migration_once(
    read: list[Path],
) -> None:
    first, second = versions(dagster_instance), versions(dagster_instance)
    assert len(read) == len(set(read)) > 80
    assert first == second
    assert all(found == newest for found, newest in first)


def test_an_instance_is_of_the_version_that_dagster_itself_would_give_it(
    read: list[Path], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    dagsters = versions(DagsterInstance.get)
    assert len(read) > 5 * len(set(read))
    home = tmp_path_factory.mktemp("another")
    (home / "dagster.yaml").symlink_to(SHIPPED / "dagster.yaml")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    assert versions(dagster_instance) == dagsters


def test_migrations_of_others_are_read_where_they_are(read: list[Path]) -> None:
    migrations.read_once()
    config = Config()
    config.set_main_option("script_location", str(SHIPPED / "incremental_assets/adapters/checkpoints/migrations"))
    ours = SHIPPED / "incremental_assets" / "adapters" / "checkpoints" / "migrations" / "versions"
    newest = max(each.stem for each in ours.glob("v*.py")).removeprefix("v")[:4]
    assert ScriptDirectory.from_config(config).get_current_head() == newest
    assert {path.parent.parent.name for path in read} == {"migrations"}
