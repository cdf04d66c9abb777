"""The component in a project's folder of definitions, loaded as Dagster loads it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import jsonschema
import pyarrow as pa
import pytest
from dagster.components.component_scaffolding import scaffold_object
from dagster.components.list import list_all_components_schema
from dagster.components.testing import create_defs_folder_sandbox
from dagster.components.testing.utils import DefsFolderSandbox
from dagster_shared.yaml_utils import safe_load_yaml
from deltalake import write_deltalake

from incremental_assets import IncrementalSource
from incremental_assets.core.config import load
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.defs.build import build
from incremental_assets.defs.checks import RANGE_TAGS
from tests.core.test_config import WHOLE
from tests.defs.studio import FakeRuntime, Studio
from tests.defs.test_definitions import in_a_process
from tests.fakes import World
from tests.scenario import ORDERS, monday
from tests.scenario import shop as shop_database

DOCUMENT = (Path(__file__).parents[2] / "docs" / "component.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"```(\w+)\n(.*?)```", DOCUMENT, re.DOTALL))
ORDERS_KEY = dg.AssetKey(["shop", "public", "orders"])
TYPE = "incremental_assets.IncrementalSource"


def component(source: str, table: str = "public.orders:updated_at:timestamp!upsert", port: str = "5432") -> str:
    return f"""\
type: {TYPE}
attributes:
  lake: ./.lake
  checkpoints: sqlite:///.lake/checkpoints.db
  sources:
    {source}:
      dialect: postgresql
      host: db.example.com
      port: {port}
      database: {source}
      user: reader
      password: {{env: NEVER_SET}}
      tables:
        - "{table}"
"""


class Project:
    """A folder of definitions."""

    def __init__(self, sandbox: DefsFolderSandbox) -> None:
        self.sandbox, self.folder = sandbox, sandbox.defs_folder_path

    def write(self, place: str, text: str) -> Path:
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def load(self) -> dg.Definitions:
        with self.sandbox.build_all_defs() as found:
            return found

    def refused(self) -> BaseException:
        """What lies behind Dagster's own exception."""
        with pytest.raises(Exception, match="Error while loading component") as found:
            self.load()
        assert found.value.__cause__ is not None
        return found.value.__cause__


@pytest.fixture
def project() -> Iterator[Project]:
    with create_defs_folder_sandbox() as sandbox:
        yield Project(sandbox)


def lines(metadata: object) -> list[tuple[str, int]]:
    references = metadata["dagster/code_references"].code_references  # type: ignore[index]
    return [(reference.file_path, reference.line_number) for reference in references]


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
        "web": [],
    }


def test_a_project_keeps_its_own_executor_and_our_jobs_theirs(project: Project) -> None:
    project.write("shop/defs.yaml", component("shop"))
    found = dg.Definitions.merge(project.load(), dg.Definitions(executor=dg.multiprocess_executor)).get_repository_def()
    executors = {name: found.get_job(name).executor_def.name for name in found.job_names}
    assert executors == {
        "sync__shop__month_20000101_job": "in_process",
        "check__shop__job": "in_process",
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
    program = "import json, sys, incremental_assets.cli; print(json.dumps({'n': 'incremental_assets.component' in sys.modules}))"
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


@pytest.mark.parametrize("name", ["shop", "2024-data", "müller", "a" * 60])
def test_what_is_scaffolded_loads_as_it_is(project: Project, name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("incremental_assets.component.IncrementalSource.__module__", "incremental_assets")
        project.sandbox.scaffold_component(IncrementalSource, name)
    text = (project.folder / name / "defs.yaml").read_text(encoding="utf-8")
    jsonschema.validate(safe_load_yaml(text)["attributes"], IncrementalSource.get_model_cls().model_json_schema())
    assert text.splitlines()[1] == f"type: {TYPE}"
    assert max(map(len, text.splitlines())) < 160
    (key,) = project.load().resolve_asset_graph().materializable_asset_keys
    assert key.path[1:] == ["public", "orders"]
    assert (project.folder / name / ".gitignore").read_text() == ".lake/\n"


def test_what_is_scaffolded_as_python_loads_as_it_is(project: Project) -> None:
    project.sandbox.scaffold_component(IncrementalSource, "shop", scaffold_format="python")
    found = project.load().get_repository_def()
    assert lines(found.asset_graph.get(ORDERS_KEY).metadata)[0] == (str(project.folder / "shop" / "sources.yaml"), 13)


def test_a_component_is_appended_to_a_file_without_touching_what_is_there(project: Project) -> None:
    file = project.write("shop/defs.yaml", component("other"))
    scaffold_object(file, TYPE, None, "yaml", project.sandbox.project_root, append=True)
    assert file.read_text().startswith(f"{component('other')}---\n")
    assert {key.path[0] for key in project.load().resolve_asset_graph().materializable_asset_keys} == {"shop", "other"}


def test_the_file_of_the_document_loads_and_makes_what_the_document_says(project: Project) -> None:
    project.write("shop/defs.yaml", SNIPPETS["yaml"])
    found = project.load().get_repository_def()
    names = {
        *(key.to_user_string() for key in found.asset_graph.get_all_asset_keys()),
        *(key.name for key in found.asset_graph.asset_check_keys),
        *found.job_names,
        *(sensor.name for sensor in found.sensor_defs),
        *found.get_top_level_resources(),
    }
    told = DOCUMENT.partition("## What you get")[2].partition("Any number")[0]
    assert set(re.findall(r"`([^`]+)`", told)) <= names


def test_the_asset_downstream_runs_when_something_has_landed_and_stays_still_when_not(
    project: Project, studio: Studio
) -> None:
    write_deltalake(
        project.folder / "shop" / ".lake" / "shop" / "public" / "orders",
        pa.table({"id": [1, 2, 3], "status": ["new", "new", "paid"]}),
    )
    project.write("reports.py", SNIPPETS["python"])
    found = dg.Definitions.merge(studio.definitions, project.load())
    instance, cursor = studio.instance, None

    def requested() -> int:
        nonlocal cursor
        evaluated = dg.evaluate_automation_conditions(found, instance, cursor=cursor)
        cursor = evaluated.cursor
        return evaluated.total_requested

    monday(studio.world.database).abort()
    requested()
    assert requested() == 0
    studio.run("2024-01-01", mode="sync")
    assert [requested(), requested()] == [1, 0]
    studio.run("2024-01-01", mode="sync")  # nothing moved
    assert requested() == 0

    report = found.get_implicit_global_asset_job_def().execute_in_process(
        instance=instance, asset_selection=[dg.AssetKey("orders_by_status")]
    )
    (told,) = report.asset_materializations_for_node("orders_by_status")
    assert told.metadata["orders"].value == [{"status": "new", "orders": 2}, {"status": "paid", "orders": 1}]
