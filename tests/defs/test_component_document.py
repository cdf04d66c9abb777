"""What `dg scaffold` writes, and what the document shows, loads as it is and does what it says."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import dagster as dg
import jsonschema
import pyarrow as pa
import pytest
from dagster.components.component_scaffolding import scaffold_object
from dagster_shared.yaml_utils import safe_load_yaml
from deltalake import write_deltalake

from incremental_assets import IncrementalSource
from incremental_assets.core.config.load import load
from tests.defs.project import ORDERS_KEY, TYPE, Project, component, lines
from tests.defs.studio import Studio
from tests.defs.watch import Watch
from tests.scenario import monday

DOCUMENT = (Path(__file__).parents[2] / "docs" / "component.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"```(\w+)\n(.*?)```", DOCUMENT, re.DOTALL))


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


def test_what_is_scaffolded_from_an_address_has_it_and_no_tables_yet(project: Project) -> None:
    address = {"url": "postgresql://reader@db.example.com:5433/web shop?sslmode=require"}
    project.sandbox.scaffold_component(IncrementalSource, "shop", scaffold_params=address)
    (source,) = load(project.folder / "shop" / "defs.yaml").sources
    assert (source.name, source.tables, source.unlisted) == ("shop", (), "ignore")
    text = (project.folder / "shop" / "defs.yaml").read_text(encoding="utf-8")
    for line in ("host: db.example.com", "port: 5433", 'database: "web shop"', "user: reader", "tls: require"):
        assert f"      {line}\n" in text
    assert "password: {env: WEB_SHOP_PASSWORD}" in text
    with pytest.raises(Exception, match="the address holds a password"):
        project.sandbox.scaffold_component(IncrementalSource, "b", scaffold_params={"url": "postgresql://a:b@c/d"})


def test_what_is_scaffolded_from_a_database_that_answers_has_what_init_proposes(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("store.db")) as database, database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, status TEXT)")
        database.execute("CREATE TABLE countries (code TEXT PRIMARY KEY, name TEXT)")
        database.execute("INSERT INTO orders (status) VALUES ('new')")
    project.sandbox.scaffold_component(IncrementalSource, "shop", scaffold_params={"url": "sqlite:///store.db"})
    file = project.folder / "shop" / "defs.yaml"
    (source,) = load(file).sources
    assert {each.id(source.name).name for each in source.tables} == {"orders", "countries"}
    keys = {key.to_user_string() for key in project.load().resolve_asset_graph().materializable_asset_keys}
    assert keys == {f"{source.name}/main/orders", f"{source.name}/main/countries"}


def test_a_database_that_does_not_answer_leaves_what_is_scaffolded_as_it_is(
    project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEB_PASSWORD", "swordfish")
    address = {"url": "postgresql://reader@127.0.0.1:1/web"}
    project.sandbox.scaffold_component(IncrementalSource, "shop", scaffold_params=address)
    text = (project.folder / "shop" / "defs.yaml").read_text(encoding="utf-8")
    assert "tables: []" in text
    assert "init --tables 'public.*' --config defs.yaml" in text
    said = capfd.readouterr()
    assert "127.0.0.1:1" in said.err
    assert "swordfish" not in said.err + said.out + text
    assert "Traceback" not in said.err


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
        *(schedule.name for schedule in found.schedule_defs),
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
    studio.__dict__["definitions"] = found
    instance, cursor, watch = studio.instance, None, Watch(studio)

    def requested() -> int:
        nonlocal cursor
        evaluated = dg.evaluate_automation_conditions(found, instance, cursor=cursor)
        cursor = evaluated.cursor
        return evaluated.total_requested

    monday(studio.world.database).abort()
    requested()
    assert requested() == 0
    studio.run("2024-01-01", mode="sync")
    watch.tick()
    assert [requested(), requested()] == [1, 0]
    studio.run("2024-01-01", mode="sync")  # nothing moved
    assert requested() == 0

    report = found.get_implicit_global_asset_job_def().execute_in_process(
        instance=instance, asset_selection=[dg.AssetKey("orders_by_status")]
    )
    (told,) = report.asset_materializations_for_node("orders_by_status")
    assert told.metadata["orders"].value == [{"status": "new", "orders": 2}, {"status": "paid", "orders": 1}]
