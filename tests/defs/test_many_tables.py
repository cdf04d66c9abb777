"""What a source of hundreds of tables must not cost: work for all of them wherever one is meant."""

from __future__ import annotations

from pathlib import Path

from dagster import AssetKey

from incremental_assets.defs.build import build, views
from incremental_assets.defs.checks import check_assets
from tests.defs.studio import configured

MANY = 250


def terms() -> str:
    """Two with an integer cursor, each of which has a job of its own; the others share one."""
    numbered = [f'- "public.events_{number}:id:integer!append"' for number in range(2)]
    timed = [f'- "public.orders_{number:03d}:updated_at:timestamp!append"' for number in range(MANY - 2)]
    return "\n".join([*numbered, *timed])


def test_a_job_of_one_table_knows_that_table_and_no_other(tmp_path: Path) -> None:
    configuration = configured(tmp_path, terms())
    repository = build(configuration, {}, {"runtime": object()}).get_repository_def()

    job = repository.get_job("sync__shop__public__events_1_job")

    assert job.asset_layer.asset_graph.get_all_asset_keys() == {
        AssetKey(["shop", "public", "events_1"]),
        AssetKey(["shop", "source", "public", "events_1"]),
    }


def test_each_table_is_checked_by_one_op_of_a_hundred_tables_at_most(tmp_path: Path) -> None:
    (view,) = views(configured(tmp_path, terms()), {})

    ops = check_assets(view)

    asked = [{key.asset_key for key in each.check_keys} for each in ops]
    assert [len(keys) for keys in asked] == [100, 100, 50]
    assert len(set().union(*asked)) == MANY
    assert [each.op.name for each in ops] == ["check__shop", "check__shop__1", "check__shop__2"]
