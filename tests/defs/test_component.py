"""The component in a project's folder of definitions, loaded as Dagster loads it."""

from __future__ import annotations

import traceback
from pathlib import Path

import dagster as dg
import jsonschema
from dagster.components.list import list_all_components_schema
from dagster_shared.yaml_utils import safe_load_yaml

from incremental_assets import IncrementalSource
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.table_id import TableId
from incremental_assets.defs.build import build
from incremental_assets.defs.checks import RANGE_TAGS
from tests.core.test_config import WHOLE
from tests.defs.project import ORDERS_KEY, TYPE, Project, component, lines
from tests.defs.studio import FakeRuntime
from tests.defs.test_definitions import in_a_process
from tests.fakes import World
from tests.scenario import ORDERS, monday
from tests.scenario import shop as shop_database


def test_a_defs_yaml_becomes_assets_checks_jobs_a_sensor_and_one_resource(project: Project) -> None:
    project.write("shop/defs.yaml", component("shop"))
    found = project.load().get_repository_def()
    graph = found.asset_graph
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == {
        "shop/public/orders",
        "shop/source/public/orders",
    }
    assert {key.name for key in graph.asset_check_keys} == {"duplicates", "reconciliation", "schema"}
    assert {"sync__shop__month_20000101_job", "check__shop__job"} <= set(found.job_names)
    assert [sensor.name for sensor in found.sensor_defs] == ["sync__shop__sensor"]
    assert set(found.get_top_level_resources()) == {"incremental_assets__shop"}


def test_everything_says_on_which_line_of_the_defs_yaml_it_stands(project: Project) -> None:
    file = str(project.write("shop/defs.yaml", component("shop")))
    found = project.load().get_repository_def()
    assert lines(found.asset_graph.get(ORDERS_KEY).metadata) == [(file, 14)]
    assert lines(found.asset_graph.get(dg.AssetKey(["shop", "source", "public", "orders"])).metadata) == [(file, 14)]
    assert lines(found.get_job("check__shop__job").metadata) == [(file, 6)]
    assert lines(found.sensor_defs[0].metadata) == [(file, 6)]


def test_every_mistake_is_told_at_its_line_and_without_a_traceback_of_ours(project: Project) -> None:
    file = project.write("shop/defs.yaml", component("shop", "public.orders:updated_at:timestmp", port="none"))
    cause = project.refused()
    told = "".join(traceback.format_exception(cause))
    assert f"{file}:9: 'none': write" in told
    assert f"{file}:14: 'public.orders:updated_at:timestmp': " in told
    assert "component.py" not in told
    assert "config.py" not in told


def test_several_components_live_in_one_project_and_in_one_file(project: Project) -> None:
    project.write("shop/defs.yaml", f"{component('shop')}---\n{component('web')}")
    project.write("eu/shop/defs.yaml", component("eu"))
    found = project.load().get_repository_def()
    assert set(found.get_top_level_resources()) == {
        "incremental_assets__shop",
        "incremental_assets__shop__1",
        "incremental_assets__eu__shop",
    }
    assert {sensor.name for sensor in found.sensor_defs} == {f"sync__{name}__sensor" for name in ("shop", "web", "eu")}
    lakes = {
        key.path[0]: found.asset_graph.get(key).metadata["dagster/uri"]
        for key in found.asset_graph.materializable_asset_keys
    }
    home = project.folder.resolve()
    assert lakes == {
        "shop": f"{home}/shop/.lake/shop/public/orders",
        "web": f"{home}/shop/.lake/web/public/orders",
        "eu": f"{home}/eu/shop/.lake/eu/public/orders",
    }


def test_components_ask_each_its_own_runtime_in_runs_in_checks_and_in_ticks(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    runtimes = {}
    for name in ("shop", "web"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(component(name))
        runtimes[name] = FakeRuntime(World(shop_database()), load(file))
    monday(runtimes["shop"].world.database).abort()
    runtimes["web"].broken = SourceUnreachable("web: nobody answers")
    found = dg.Definitions.merge(
        *(build(each.configuration, {}, {f"of_{name}": each}, f"of_{name}") for name, each in runtimes.items())
    ).get_repository_def()

    def run(job: str) -> dg.ExecuteInProcessResult:
        tags = dict.fromkeys(RANGE_TAGS, "2024-01-01") if job.startswith("sync") else {}
        return found.get_job(job).execute_in_process(
            instance=instance, tags=tags | {"mode": "sync"}, raise_on_error=False
        )

    def tick(name: str) -> str | None:
        with dg.build_sensor_context(
            instance=instance, repository_def=found, resources={f"of_{name}": runtimes[name]}
        ) as context:
            return found.get_sensor_def(f"sync__{name}__sensor").evaluate_tick(context).skip_message

    assert tick("shop") is None
    assert tick("web") == "web: nobody answers"
    assert [run(f"sync__{name}__month_20000101_job").success for name in runtimes] == [True, False]
    assert [run(f"check__{name}__job").success for name in runtimes] == [True, False]
    assert {name: list(each.checkpoints.positions()) for name, each in runtimes.items()} == {
        "shop": [ORDERS],
        "web": [TableId("web", "public", "orders")],
    }, "each in its own, the failure as well"


def test_a_project_keeps_its_own_executor_and_our_jobs_theirs(project: Project) -> None:
    project.write("shop/defs.yaml", component("shop"))
    found = dg.Definitions.merge(project.load(), dg.Definitions(executor=dg.multiprocess_executor)).get_repository_def()
    executors = {name: found.get_job(name).executor_def.name for name in found.job_names}
    assert executors == {
        "sync__shop__month_20000101_job": "in_process",
        "check__shop__job": "in_process",
        "repair__shop__job": "in_process",
        "__ASSET_JOB": "multiprocess",
    }


def test_post_processing_reaches_the_assets(project: Project) -> None:
    extra = "post_processing:\n  assets:\n    - {target: 'kind:deltalake', attributes: {tags: {tier: gold}}}\n"
    project.write("shop/defs.yaml", component("shop") + extra)
    found = project.load().get_repository_def()
    assert found.asset_graph.get(ORDERS_KEY).tags["tier"] == "gold"
    assert lines(found.asset_graph.get(ORDERS_KEY).metadata)[0][1] == 14


def test_loading_opens_nothing_asks_no_secret_and_imports_no_spark(project: Project) -> None:
    file = project.write("shop/defs.yaml", component("shop"))
    before = set(file.parent.iterdir())
    found = in_a_process(
        f"""
        import json, socket, sys
        def refused(*_): raise AssertionError("the definitions open a connection")
        socket.socket.connect = refused
        sys.path.insert(0, {str(project.folder.parents[1])!r})
        import importlib, pathlib
        from dagster.components.core.component_tree import ComponentTree
        module = importlib.import_module({f"{project.sandbox.project_name}.defs"!r})
        defs = ComponentTree(defs_module=module, project_root=pathlib.Path({str(project.sandbox.project_root)!r})).build_defs()
        print(json.dumps({{
            "loaded": sorted({{"pyspark", "delta", "deltalake", "psycopg", "py4j"}} & set(sys.modules)),
            "jobs": sorted(defs.get_repository_def().job_names),
        }}))
        """,
        file,
    )
    assert found["loaded"] == []
    assert "check__shop__job" in found["jobs"]  # type: ignore[operator]
    assert set(file.parent.iterdir()) == before


def test_the_command_line_does_not_load_it(tmp_path: Path) -> None:
    program = "import json, sys, incremental_assets.cli.main; print(json.dumps({'n': 'incremental_assets.component' in sys.modules}))"
    assert in_a_process(program, tmp_path) == {"n": False}


def test_the_schema_that_dg_gets_takes_the_whole_contract_and_refuses_what_it_can() -> None:
    validator = jsonschema.Draft202012Validator(IncrementalSource.get_model_cls().model_json_schema())
    whole = safe_load_yaml(WHOLE)
    assert list(validator.iter_errors(whole)) == []
    whole["sources"]["shop"] |= {"prot": 1, "dialect": "postgres"}
    assert {error.json_path for error in validator.iter_errors(whole)} == {"$.sources.shop", "$.sources.shop.dialect"}


def test_the_schema_is_a_part_of_the_one_for_editors() -> None:
    everything = list_all_components_schema(entry_points=False, extra_modules=("incremental_assets",))
    assert everything["properties"]["type"]["const"] == TYPE
    document = safe_load_yaml(component("shop"))
    assert list(jsonschema.Draft202012Validator(everything).iter_errors(document)) == []
    document["attributes"]["sources"]["shop"]["prot"] = 1
    assert len(list(jsonschema.Draft202012Validator(everything).iter_errors(document))) == 1
