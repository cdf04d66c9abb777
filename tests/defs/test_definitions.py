"""Loading: nothing is asked, nothing is opened, and a broken file is readable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, DefaultScheduleStatus, Definitions

import incremental_assets
from incremental_assets import definitions
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.defs.tables import View
from incremental_assets.resources.runtime import Runtime
from tests.defs.studio import configured, opened
from tests.scenario import COUNTRIES_SHAPE, ORDERS_SHAPE


def keys(found: Definitions) -> set[str]:
    return {key.to_user_string() for key in found.resolve_asset_graph().get_all_asset_keys()}


def in_a_process(program: str, config: Path) -> dict[str, object]:
    """What a fresh interpreter prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "INCREMENTAL_ASSETS_CONFIG": str(config)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_loading_imports_no_spark_and_opens_no_file(tmp_path: Path) -> None:
    configured(tmp_path)
    before = set(tmp_path.iterdir())
    found = in_a_process(
        """
        import gc, json, socket, sys
        def refused(*_): raise AssertionError("the definitions open a connection")
        socket.socket.connect = refused
        from incremental_assets.definitions import defs
        repository = defs().get_repository_def()
        print(json.dumps({
            "loaded": sorted({"pyspark", "delta", "deltalake", "psycopg", "py4j"} & set(sys.modules)),
            "jobs": sorted(repository.job_names),
            "collects": gc.isenabled(),
        }))
        """,
        tmp_path / "sources.yaml",
    )
    assert found["loaded"] == []
    assert found["collects"]
    assert "sync__shop__month_20231001_job" in found["jobs"]  # type: ignore[operator]
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("written", "cron"), [("", ["0 3 * * *"]), ("check_at: 22:30", ["30 22 * * *"]), ("check_at: never", [])]
)
def test_everything_is_checked_on_a_daily_schedule_that_is_on(tmp_path: Path, written: str, cron: list[str]) -> None:
    runtime = Runtime(configured(tmp_path, options=f"{written}\n"))
    schedules = definitions.of(runtime).get_repository_def().schedule_defs
    runtime.close()
    assert [schedule.cron_schedule for schedule in schedules] == cron
    for schedule in schedules:
        assert schedule.job_name == "check__shop__job"
        assert schedule.execution_timezone == "UTC"
        assert schedule.default_status is DefaultScheduleStatus.RUNNING


def test_the_configuration_as_shipped_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG", raising=False)
    assert definitions.config_path().name == "sources.yaml"
    assert "tpch/public/orders" in keys(definitions.defs())


def test_tables_that_are_not_listed_and_all_columns_come_from_the_catalogue_last_seen(tmp_path: Path) -> None:
    runtime = Runtime(configured(tmp_path))
    assert "shop/public/countries" not in keys(definitions.of(runtime))

    runtime.checkpoints.remember_catalogue("shop", (ORDERS_SHAPE, COUNTRIES_SHAPE))
    runtime.close()
    later = definitions.of(Runtime(configured(tmp_path)))
    assert {"shop/public/countries", "shop/source/public/countries"} <= keys(later)
    columns = (
        later.resolve_asset_graph()
        .get(AssetKey(["shop", "public", "orders"]))
        .metadata["dagster/column_schema"]
        .columns
    )
    assert [column.name for column in columns][:4] == list(ORDERS_SHAPE.names)


def test_a_broken_configuration_is_told_by_its_own_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sources.yaml"
    path.write_text("lake: ./lake\ncheckpoints: sqlite:///c.db\nsources: {shop: {dialect: postgres}}\n")
    monkeypatch.setenv("INCREMENTAL_ASSETS_CONFIG", str(path))
    with pytest.raises(ConfigurationError) as found:
        definitions.defs()
    assert f"{path}:3: 'postgres': did you mean `postgresql`?" in str(found.value)
    assert found.value.__suppress_context__


def test_a_source_without_encryption_is_named_in_the_log_of_the_code_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = configured(tmp_path).path
    path.write_text(path.read_text().replace("host: localhost", "host: db\n    tls: disable"))
    monkeypatch.setenv("INCREMENTAL_ASSETS_CONFIG", str(path))
    definitions.defs()
    assert "cross the network to db unencrypted" in caplog.text


def test_a_checkpoint_file_that_is_none_hides_no_listed_table(tmp_path: Path) -> None:
    runtime = Runtime(configured(tmp_path))
    (tmp_path / "checkpoints.db").write_text("this is no database" * 100)
    assert "shop/public/orders" in keys(definitions.of(runtime))


def test_the_front_door_is_these_names_and_costs_nothing() -> None:
    assert incremental_assets.__all__ == [
        "Check", "Checkpoints", "Configuration", "ConfigurationError", "CursorType", "CursorValue", "IncrementalAssetsError", "IncrementalSource",
        "Lake", "Mode", "Ports", "Probe", "Request", "Resolved", "RowCounts", "Scope", "Source", "SourceConfig", "Stage", "Status", "Strategy",
        "SyncReport", "TableConfig", "TableId", "TableShape", "TableSpec", "Verdict", "Window", "audit", "load", "resolve_all",
        "sync_many", "sync_table",
    ]  # fmt: skip
    for name in incremental_assets.__all__:
        assert getattr(incremental_assets, name).__name__ == name
    assert dir(incremental_assets) == incremental_assets.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        incremental_assets.nothing  # noqa: B018
    cost = "import json, sys, incremental_assets; print(json.dumps({'n': [m for m in sys.modules if m.startswith('incremental_assets.')]}))"
    assert in_a_process(cost, Path("unused")) == {"n": []}


def test_a_copy_that_lies_elsewhere_has_its_place_at_its_asset_and_a_new_table_of_a_glob_is_one(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    tables = """
        - match: publ*.ord*
          cursor: {column: updated_at, type: timestamp}
          strategy: upsert
          history: scd2
    """
    found = opened(tmp_path, instance, tables, options='target: "raw/{table}"\nunlisted: ignore\n').view
    view = View.of(found.config, found.home, [ORDERS_SHAPE, COUNTRIES_SHAPE])
    assert [str(known.id) for known in view.tables] == ["shop.public.orders"]
    (known,) = view.tables
    places = [view.spec(known).metadata["dagster/uri"], view.history_spec(known).metadata["dagster/uri"]]
    assert places == [f"{tmp_path}/lake/raw/orders", f"{tmp_path}/lake/raw/orders__history"]
