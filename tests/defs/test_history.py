"""The history of a table as an asset of its own, downstream of the table, with its rows and its checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance

from incremental_assets.core.model.table_id import TableId
from tests.defs.studio import TERMS, Studio, opened
from tests.fakes import FakeLake
from tests.fakes.history import Version
from tests.scenario import ORDERS, monday, order, tuesday

WITH_HISTORY = TERMS.rstrip() + "\n      history: scd2\n"
HISTORY = AssetKey(["shop", "public", "orders__history"])
COPY = AssetKey(["shop", "public", "orders"])


@pytest.fixture
def kept(tmp_path: Path, instance: DagsterInstance) -> Studio:
    """`orders` with a history."""
    return opened(tmp_path, instance, WITH_HISTORY)


def both(studio: Studio) -> tuple[TableId, ...]:
    """The copy and its history, as the sensor selects them."""
    return tuple(TableId(*key.path) for key in studio.view.asset_keys([ORDERS]))


def test_the_history_is_downstream_of_its_table_and_syncs_in_the_same_job(kept: Studio) -> None:
    graph = kept.definitions.resolve_asset_graph()
    assert graph.get(HISTORY).parent_keys == {COPY}
    job = kept.definitions.resolve_job_def("sync__shop__month_20231001_job")
    assert {COPY, HISTORY} <= job.asset_layer.selected_asset_keys
    assert {check.name for check in graph.get_check_keys_for_assets({HISTORY})} == {"current", "overlap"}
    columns = [column.name for column in graph.get(HISTORY).metadata["dagster/column_schema"].columns]
    assert columns[:8] == [
        "id",
        "customer",
        "status",
        "updated_at",
        "_valid_from",
        "_valid_to",
        "_is_current",
        "_sync_deleted",
    ]


def test_a_sync_announces_copy_and_history_each_with_its_rows(kept: Studio) -> None:
    clerk = monday(kept.world.database)
    kept.run("2024-01-01", tables=both(kept), mode="sync")
    tuesday(kept.world.database, clerk)
    result = kept.run("2024-01-01", tables=both(kept), mode="sync")

    told = {event.asset_key: event.materialization.metadata for event in result.get_asset_materialization_events()}
    assert result.success
    assert set(told) == {COPY, HISTORY}
    assert told[COPY]["rows_inserted"].value == 2
    assert (told[HISTORY]["versions_added"].value, told[HISTORY]["sequence"].value) == (3, 1)


def test_whichever_of_the_two_is_selected_both_are_synced_and_announced(kept: Studio) -> None:
    monday(kept.world.database).abort()
    alone = kept.run("2024-01-01", tables=[ORDERS.history])
    assert alone.success
    announced = [kept.instance.get_latest_materialization_event(key) for key in (COPY, HISTORY)]
    assert all(announced)


def test_of_several_partitions_the_newest_alone_says_what_was_done_to_the_one_that_was_not_selected(
    kept: Studio,
) -> None:
    order(kept.world.database, "ada", "2023-12-05T00:00:00Z")
    order(kept.world.database, "grace", "2024-01-05T00:00:00Z")
    kept.world.pass_time(10)
    assert kept.run("2023-12-01", "2024-01-01", tables=[ORDERS.history]).success
    assert kept.by_partition("rows_inserted") == {"2023-12-01": [None], "2024-01-01": [2]}
    assert kept.by_partition("versions_added", ORDERS.history) == {"2023-12-01": [None], "2024-01-01": [2]}


def test_the_checks_of_a_history_find_what_another_hand_did_to_it(kept: Studio) -> None:
    monday(kept.world.database).abort()
    kept.run("2024-01-01", tables=both(kept), mode="sync")
    found = kept.check("current", "overlap", table=ORDERS.history)
    assert {name: check.passed for name, check in found.items()} == {"current": True, "overlap": True}

    versions = kept.world.lake.histories[ORDERS].versions
    key, (only,) = next(iter(versions.items()))
    versions[key] = [only, Version({**only.row, "status": "never so"}, 1, only.begins)]
    found = kept.check("current", "overlap", table=ORDERS.history)
    assert {name: check.passed for name, check in found.items()} == {"current": False, "overlap": False}
    assert found["overlap"].metadata["samples"].value == [str(key)]


def test_a_history_that_could_not_be_written_fails_the_run_and_the_next_sync_makes_it_good(
    kept: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday(kept.world.database).abort()

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(FakeLake, "follow", full)
        assert not kept.run("2024-01-01", tables=both(kept), mode="sync").success
    assert kept.run("2024-01-01", tables=both(kept), mode="sync").success
    assert kept.check("current", table=ORDERS.history)["current"].passed
    assert kept.world.lake.histories[ORDERS].current


def test_without_a_history_a_table_has_one_asset(studio: Studio) -> None:
    order(studio.world.database, "ada", studio.world.database.stamp())
    studio.run("2024-01-01", mode="sync")
    assert HISTORY not in studio.definitions.resolve_asset_graph().get_all_asset_keys()
    assert studio.world.lake.histories == {}
