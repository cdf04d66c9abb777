"""`translation`: assets are named and described as a project wants it, and everything that speaks of them uses the same names."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path

import dagster as dg
import jsonschema
import pytest
from dagster_shared.yaml_utils import safe_load_yaml

from incremental_assets import IncrementalSource
from incremental_assets.cli.dagster_checks import DagsterChecks
from incremental_assets.core.checks.verdict import unanswered
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.observing.occurrences import CheckEnded
from incremental_assets.defs.build import views
from incremental_assets.defs.translation import Translation, keys_of
from tests.defs.project import Project, component
from tests.defs.studio import Studio
from tests.defs.watch import Watch, settle
from tests.scenario import COUNTRIES, ORDERS, monday

RAW_ORDERS, RAW_COUNTRIES = dg.AssetKey(["raw", "orders"]), dg.AssetKey(["raw", "countries"])
USUAL = dg.AssetKey(["shop", "public", "orders"])
SOURCE = dg.AssetKey(["shop", "source", "public", "orders"])
TRANSLATION = """\
  translation:
    key: "raw/{{ table.name }}"
    group_name: "{{ table.source }}_{{ table.schema }}"
    owners: ["team:data"]
    tags: {tier: bronze}
    metadata: {steps: 3}
    kinds: [postgres]
    automation_condition: "{{ dg.AutomationCondition.on_cron('@daily') }}"
"""


def translated(extra: str = TRANSLATION, table: str = '"public.orders:updated_at:timestamp!upsert"') -> str:
    return component("shop").replace('"public.orders:updated_at:timestamp!upsert"', table) + extra


def translated_studio(studio: Studio) -> Studio:
    """The same world, with assets of other names."""
    file = studio.runtime.configuration.path
    file.write_text(file.read_text() + "translation: {key: 'raw/{{ table.name }}'}\n")
    return Studio(studio.world, replace(studio.runtime, configuration=load(file)), studio.instance)


@pytest.fixture
def renamed(studio: Studio) -> Studio:
    """On Monday, before anything has landed."""
    monday(studio.world.database).abort()
    studio.world.pass_time(10)
    return translated_studio(studio)


def test_a_component_names_groups_tags_and_automates_its_assets(project: Project) -> None:
    table = "{table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, history: scd2}"
    file = project.write("shop/defs.yaml", translated(table=table))
    graph = project.load().resolve_asset_graph()
    history = dg.AssetKey(["raw", "orders__history"])
    assert graph.get_all_asset_keys() == {RAW_ORDERS, history, SOURCE}
    copy = graph.get(RAW_ORDERS)
    assert (copy.group_name, copy.owners, copy.tags["tier"]) == ("shop_public", ["team:data"], "bronze")
    assert (copy.metadata["steps"], copy.metadata["dagster/table_name"]) == (3, "shop.public.orders")
    assert copy.automation_condition is not None
    assert (copy.kinds, graph.get(history).parent_keys) == ({"postgres"}, {RAW_ORDERS})
    assert copy.parent_keys == {SOURCE}
    assert {key.asset_key for key in graph.asset_check_keys} == {RAW_ORDERS, history}
    jsonschema.validate(
        safe_load_yaml(file.read_text())["attributes"], IncrementalSource.get_model_cls().model_json_schema()
    )


def test_a_function_of_the_project_may_say_all_of_it(project: Project) -> None:
    project.write(
        "shop/template_vars.py",
        "import dagster as dg\n\n\n@dg.template_var\ndef of_ours():\n"
        "    return lambda spec: spec.replace_attributes(key=spec.key.with_prefix('lake'), group_name='ours')\n",
    )
    text = translated('  translation: "{{ of_ours(spec) }}"\n')
    project.write("shop/defs.yaml", text.replace("attributes:", "template_vars_module: .template_vars\nattributes:", 1))
    graph = project.load().resolve_asset_graph()
    assert graph.get(dg.AssetKey(["lake", "shop", "public", "orders"])).group_name == "ours"


def test_commands_use_the_names_that_the_project_has(project: Project) -> None:
    file = project.write("shop/defs.yaml", translated())
    assert keys_of([ORDERS], Translation.of_file(load(file))).of(ORDERS) == RAW_ORDERS
    file.write_text(translated("  translation: {key_prefix: [lake, raw], tags: {tier: '{{ of_the_project }}'}}\n"))
    assert keys_of([ORDERS], Translation.of_file(load(file))).of(ORDERS) == USUAL.with_prefix(["lake", "raw"])


def test_a_sync_its_checks_and_the_sensor_speak_of_the_same_asset(renamed: Studio) -> None:
    watch = Watch(renamed)
    assert {key for run in watch.runs() for key in run.asset_selection or ()} == {RAW_ORDERS, RAW_COUNTRIES}
    settle(renamed)
    assert renamed.instance.get_materialized_partitions(RAW_ORDERS) >= {"2024-01-01"}
    assert renamed.instance.get_latest_asset_check_evaluation_record(dg.AssetCheckKey(RAW_ORDERS, "schema"))
    found = renamed.check("duplicates", "reconciliation")
    assert {each.asset_key for each in found.values()} == {RAW_ORDERS}
    assert all(each.passed for each in found.values())
    assert watch.skipped() == "nothing changed"
    assert renamed.announced() == ["2024-01-01"], "what was announced under this name is not announced again"
    assert {RAW_ORDERS, RAW_COUNTRIES} <= set(renamed.instance.all_asset_keys())
    assert USUAL not in renamed.instance.all_asset_keys()


def test_the_sensor_says_how_fresh_the_asset_is_under_its_name(renamed: Studio) -> None:
    settle(renamed)
    evaluations = [each for each in Watch(renamed).tick().asset_events if isinstance(each, dg.AssetCheckEvaluation)]
    assert {(each.asset_key, each.check_name) for each in evaluations} == {(RAW_ORDERS, "freshness")}


def test_an_asset_that_is_renamed_shows_what_has_landed_under_its_new_name(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    cursor = (watch := Watch(studio)).cursor
    assert watch.skipped() == "nothing changed"
    cursor = watch.cursor
    after = translated_studio(studio)
    assert Watch(after, cursor).skipped() == "nothing changed"
    assert after.instance.get_materialized_partitions(RAW_ORDERS) >= {"2024-01-01"}
    assert after.instance.get_materialized_partitions(RAW_COUNTRIES) == {"current"}


def test_a_command_announces_its_verdicts_under_the_same_name(renamed: Studio) -> None:
    settle(renamed)
    said: list[str] = []
    verdict = unanswered(ORDERS, Check.DUPLICATES, "nobody answers")
    DagsterChecks(renamed.instance, renamed.view.keys, said.append).notify(CheckEnded(verdict))
    found = renamed.instance.get_latest_asset_check_evaluation_record(dg.AssetCheckKey(RAW_ORDERS, "duplicates"))
    assert (found is not None, said) == (True, [])


@pytest.mark.parametrize(
    ("written", "cure"),
    [
        ("{deps: [a]}", "deps"),
        ("{group_nme: a}", "group_name"),
        ("{key: '{{ tabel.name }}'}", "known are `table.source`, `table.schema`, `table.name`"),
        ("'{{ of_nobody(spec) }}'", "of_nobody"),
    ],
)
def test_a_translation_that_cannot_be_filled_in_is_one_sentence_at_its_line(
    project: Project, written: str, cure: str
) -> None:
    file = project.write("shop/defs.yaml", translated(f"  translation: {written}\n"))
    cause = project.refused()
    said = "".join(traceback.format_exception(cause))
    assert f"{file}:15: " in said
    assert cure in said
    assert said.count(f"{file}:") == 1
    assert "Traceback" not in said


def test_two_tables_with_one_name_are_refused_by_both_names_at_the_line(studio: Studio) -> None:
    configuration = studio.runtime.configuration
    translation = Translation({"key": "raw/all"}, configuration, dg.ResolutionContext.default())
    with pytest.raises(ConfigurationError) as refused:
        keys_of([ORDERS, COUNTRIES], translation)
    (problem,) = refused.value.problems
    assert (problem.file, problem.text) == (str(configuration.path), "translation")
    assert problem.cure.startswith("it gives shop.public.orders and shop.public.countries one asset key, raw/all; ")


def test_tables_of_two_sources_with_one_name_are_refused_where_definitions_and_commands_load(
    studio: Studio, tmp_path: Path
) -> None:
    file = tmp_path / "two.yaml"
    source = "  {name}: {{dialect: sqlite, database: {name}.db, unlisted: ignore, tables: [{{table: main.orders, strategy: full_refresh}}]}}\n"
    file.write_text(
        f"lake: lake\ncheckpoints: sqlite:///checkpoints.db\nsources:\n{source.format(name='a')}{source.format(name='b')}"
        "translation: {key: 'raw/{{ table.name }}'}\n"
    )
    with pytest.raises(
        ConfigurationError, match=r"gives a\.main\.orders and b\.main\.orders one asset key, raw/orders"
    ):
        views(load(file), {})


def test_a_name_that_looks_like_a_number_or_a_list_is_a_name(studio: Studio) -> None:
    written = {"key_prefix": ["{{ table.schema }}", "raw"], "key": "{{ table.name }}"}
    translation = Translation(written, studio.runtime.configuration, dg.ResolutionContext.default())
    assert translation.key(TableId("shop", "2024", "007")).path == ["2024", "raw", "007"]
    assert translation.key(TableId("shop", "public", "[1]")).path == ["public", "raw", "[1]"]
