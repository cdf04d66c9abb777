"""What a run of the assets reads, lands, announces and says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance, ExecuteInProcessResult

from incremental_assets.core.errors import CommitMissing, SourceUnreachable
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.kept import During, Ends, Kept
from incremental_assets.core.model.quarantine import UnfitRows
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.burn_rates import MONTH
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.report import Status
from incremental_assets.core.planning.target import Commit
from tests.defs.studio import TERMS, Studio, opened
from tests.fakes import FakeLake
from tests.scenario import COUNTRIES, ORDERS, monday, order, orders, tuesday


def told(result: ExecuteInProcessResult, table: TableId = ORDERS) -> dict[str, Any]:
    """The metadata of the last materialization of one table."""
    events = [event for event in result.get_asset_materialization_events() if event.asset_key == key(table)]
    return {name: value.value for name, value in events[-1].materialization.metadata.items()}


def key(table: TableId) -> AssetKey:
    return AssetKey([table.source, table.schema, table.name])


def failure(result: ExecuteInProcessResult) -> str:
    """What people read at the failed step."""
    (event,) = [event for event in result.all_events if event.is_step_failure]
    data = event.step_failure_data
    assert data.user_failure_data is not None, "an error with a traceback of ours, not a Failure"
    return data.user_failure_data.description or ""


def test_a_run_tagged_sync_goes_on_from_the_watermark_and_announces_the_partitions_it_was_asked_for(
    studio: Studio,
) -> None:
    clerk = monday(studio.world.database)
    first = studio.run("2023-12-01", "2024-01-01", mode="sync")
    tuesday(studio.world.database, clerk)
    second = studio.run("2024-01-01", mode="sync")

    assert first.success
    assert second.success
    assert told(first)["rows_inserted"] == 4
    assert told(second)["rows_late"] == 1
    assert told(second)["previous_watermark"] == told(first)["new_watermark"]
    assert studio.announced() == ["2023-12-01", "2024-01-01", "2024-01-01"]
    assert studio.runtime.expected_full_reads == set()
    assert [row["status"] for row in studio.world.rows(ORDERS) if row["customer"] == "ada"] == ["sent"]


SUMMED = ("rows_read", "rows_inserted", "seconds", "seconds_read")


@pytest.mark.parametrize("mode", ["sync", ""], ids=["a sync", "a backfill"])
def test_a_run_over_several_partitions_tells_what_it_did_once_and_on_the_others_where(
    studio: Studio, mode: str
) -> None:
    for month in ("2023-11", "2023-12", "2024-01"):
        order(studio.world.database, month, f"{month}-05T00:00:00Z")
    studio.world.pass_time(10)
    result = studio.run("2023-11-01", "2024-01-01", mode=mode)

    assert told(result)["rows_inserted"] == 3
    for name in SUMMED:
        values = studio.by_partition(name)
        assert values.pop("2024-01-01")[0] is not None
        assert values == {"2023-11-01": [None], "2023-12-01": [None]}, name
    assert set(map(tuple, studio.by_partition("run_totals_at").values())) == {("2024-01-01",)}
    assert set(map(tuple, studio.by_partition("window").values())) == {(told(result)["window"],)}


def test_a_partition_that_began_after_the_run_was_asked_for_is_announced_as_well(studio: Studio) -> None:
    order(studio.world.database, "dec", "2023-12-31T23:59:59Z")
    order(studio.world.database, "jan", "2024-01-01T00:00:01Z")
    result = studio.run("2023-12-01", mode="sync")

    assert result.success
    assert [row["customer"] for row in studio.world.rows(ORDERS)] == ["dec", "jan"]
    assert studio.announced() == ["2023-12-01", "2024-01-01"]
    assert studio.by_partition("rows_read") == {"2023-12-01": [2], "2024-01-01": [None]}
    (newest,) = studio.instance.fetch_materializations(key(ORDERS), limit=1).records
    assert newest.partition_key == "2023-12-01", "the asset's page shows what came last, which is to have the totals"


def test_an_idle_table_announces_nothing_in_a_sync(studio: Studio) -> None:
    monday(studio.world.database).abort()
    studio.world.pass_time(10)
    studio.run("2024-01-01", mode="sync")
    again = studio.run("2024-01-01", mode="sync")

    assert again.success
    assert studio.announced() == ["2024-01-01"]


def test_a_range_of_partitions_is_read_again_as_one_window_and_the_watermark_stays(studio: Studio) -> None:
    order(studio.world.database, "nov", "2023-11-05T00:00:00Z")
    order(studio.world.database, "dec", "2023-12-05T00:00:00Z")
    order(studio.world.database, "jan", "2024-01-05T00:00:00Z")
    result = studio.run("2023-11-01", "2023-12-01")

    assert told(result)["mode"] == "backfill"
    assert told(result)["window"] == "[2023-11-01T00:00:00Z, 2024-01-01T00:00:00Z)"
    assert "new_watermark" not in told(result)
    assert studio.announced() == ["2023-11-01", "2023-12-01"]
    assert [row["customer"] for row in studio.world.rows(ORDERS)] == ["nov", "dec"]


def test_the_one_partition_of_a_table_without_a_cursor_reads_it_whole_whether_that_is_due_or_not(
    studio: Studio,
) -> None:
    studio.world.database.insert(COUNTRIES, code="ch", name="Switzerland")
    studio.run("current", tables=[COUNTRIES], mode="sync")
    studio.world.database.insert(COUNTRIES, code="de", name="Germany")
    assert studio.runtime.expected_full_reads == {COUNTRIES}, "Spark is told that it will read the whole table"
    not_due = studio.run("current", tables=[COUNTRIES], mode="sync")
    assert not_due.success
    assert len(studio.world.rows(COUNTRIES)) == 1

    asked_for = studio.run("current", tables=[COUNTRIES])
    assert told(asked_for, COUNTRIES)["dagster/row_count"] == 2
    position = studio.world.checkpoints.position(COUNTRIES)
    assert position.state is not None
    assert position.state.clock is not None
    assert told(asked_for, COUNTRIES)["next_look"] == (position.state.clock + timedelta(days=1)).isoformat()
    assert studio.announced(COUNTRIES) == ["current", "current"]


def test_a_failed_table_fails_the_step_by_name_after_the_others_have_landed(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    studio = opened(
        tmp_path,
        instance,
        """
        - "public.orders:updated_at:timestamp!upsert"
        - "public.countries:name:timestamp!upsert"
        """,
    )
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z")
    result = studio.run("2024-01-01", tables=[ORDERS, COUNTRIES], mode="sync")

    assert not result.success
    assert failure(result).startswith(
        "shop.public.countries: the cursor 'name' is declared as timestamp but the column is text"
    )
    assert studio.announced() == ["2024-01-01"]
    assert studio.announced(COUNTRIES) == []


def test_a_sync_that_fails_halfway_is_told_in_one_sentence(studio: Studio) -> None:
    studio.world.database.insert(ORDERS, id=1, customer="ada", status="new", updated_at=None)
    result = studio.run("2024-01-01", mode="sync")
    assert failure(result).startswith("shop.public.orders: 1 row has no 'updated_at'")
    assert "\n" not in failure(result)


def test_a_source_that_does_not_answer_fails_the_step_in_one_sentence(studio: Studio) -> None:
    studio.runtime.broken = SourceUnreachable("shop: nobody answers at localhost:5432")
    assert failure(studio.run("2024-01-01", mode="sync")) == "shop: nobody answers at localhost:5432"


def test_a_table_that_another_run_syncs_is_no_failure_of_a_sync_but_one_of_a_backfill(studio: Studio) -> None:
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z")
    with studio.world.checkpoints.lease(ORDERS, "another run"):
        assert studio.run("2024-01-01", mode="sync").success
        assert "another run is syncing this table" in failure(studio.run("2024-01-01"))
    assert studio.announced() == []


MONTHS = ("2023-10", "2023-11", "2023-12", "2024-01")


def by_month(folder: Path, instance: DagsterInstance, backfill: str) -> Studio:
    """A row in each of four months; a backfill that keeps these terms."""
    studio = opened(folder, instance, options=f"backfill: {backfill}\n")
    for month in MONTHS:
        order(studio.world.database, month, f"{month}-05T00:00:00Z")
    return studio


def windows_landed(studio: Studio) -> list[str]:
    """Oldest first."""
    reports = [event.report for event in studio.world.memory.events]
    return [str(report.window) for report in reports if report and report.status is Status.LANDED]


def partition_rows(studio: Studio) -> dict[str | None, Any]:
    """As the UI shows them."""
    records = studio.instance.fetch_materializations(key(ORDERS), limit=1000).records
    events = [record.asset_materialization for record in reversed(records)]
    return {each.partition: each.metadata["dagster/partition_row_count"].value for each in events if each}


def test_a_long_range_is_read_in_parts_with_a_rest_in_between_each_window_once(
    tmp_path: Path, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr("incremental_assets.defs.backfill.sleep", rests.append)
    studio = by_month(tmp_path, instance, "{windows: 2, pause: 30s, connections: 1}")
    result = studio.run("2023-10-01", "2024-01-01")

    assert result.success
    assert rests == [30.0]
    assert windows_landed(studio) == [
        "[2023-10-01T00:00:00Z, 2023-12-01T00:00:00Z)",
        "[2023-12-01T00:00:00Z, 2024-02-01T00:00:00Z)",
    ]
    assert told(result)["window"] == "[2023-10-01T00:00:00Z, 2024-02-01T00:00:00Z)"
    assert told(result)["rows_inserted"] == 4
    assert sum(number or 0 for numbers in studio.by_partition("rows_inserted").values() for number in numbers) == 4
    assert "new_watermark" not in told(result)


def test_a_range_that_fails_halfway_has_announced_what_landed_and_asks_for_no_more(
    tmp_path: Path, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio, apply = by_month(tmp_path, instance, "{windows: 1}"), FakeLake.apply

    def until_december(lake: FakeLake, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        if str(plan.reading.window.lower) == "2023-12-01T00:00:00Z":
            raise CommitMissing("shop.public.orders: the lake's disk is full")
        return apply(lake, plan, batch, state)

    monkeypatch.setattr(FakeLake, "apply", until_december)
    result = studio.run("2023-10-01", "2024-01-01")

    assert failure(result) == "shop.public.orders: the lake's disk is full"
    assert studio.announced() == ["2023-10-01", "2023-11-01"]
    assert [row["customer"] for row in studio.world.rows(ORDERS)] == ["2023-10", "2023-11"]


def test_each_partition_of_a_backfill_says_how_many_rows_it_holds(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = by_month(tmp_path, instance, "{windows: 3}")
    order(studio.world.database, "again", "2023-11-06T00:00:00Z")
    studio.run("2023-10-01", "2024-01-01")
    assert partition_rows(studio) == {"2023-10-01": 1, "2023-11-01": 2, "2023-12-01": 1, "2024-01-01": 1}


def test_partitions_with_a_gap_between_them_are_read_window_by_window(studio: Studio, monkeypatch: Any) -> None:
    from dagster import AssetExecutionContext

    # Dagster starts one run per contiguous range; whoever calls with others gets what he asks for.
    monkeypatch.setattr(AssetExecutionContext, "partition_keys", property(lambda _: ["2023-10-01", "2024-01-01"]))
    for month in ("2023-10", "2023-11", "2024-01"):
        order(studio.world.database, month, f"{month}-05T00:00:00Z")
    result = studio.run("2023-10-01", "2024-01-01")

    assert [row["customer"] for row in studio.world.rows(ORDERS)] == ["2023-10", "2024-01"]
    assert told(result)["rows_inserted"] == 2


def test_what_is_left_of_the_budgets_is_in_the_metadata_of_a_sync(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = opened(tmp_path, instance, TERMS + "      slo: {freshness: 95% within 5m, success: 99.9%}\n")
    monday(studio.world.database)
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    late = During(now - timedelta(days=3), now - timedelta(days=3, hours=-18))
    ends = {MONTH: Ends(1_999, 1)}
    studio.world.memory.kept[ORDERS] = Kept(now, now - timedelta(days=90), (late,), ends)

    metadata = told(studio.run("2024-01-01", mode="sync"))

    assert (metadata["budget_left_freshness"], metadata["budget_left_success"]) == (0.5, 0.5)


def test_everything_that_a_run_knows_is_in_its_metadata(studio: Studio) -> None:
    monday(studio.world.database)
    metadata = told(studio.run("2024-01-01", mode="sync"))
    expected = {
        "mode", "strategy", "window", "guarantee", "guarantee_reason", "new_watermark", "settled", "rows_read", "rows_inserted",
        "rows_updated", "rows_deleted", "rows_unchanged", "rows_late", "rows_quarantined", "delta_version", "sequence", "seconds",
        "lag_seconds", "seconds_plan", "seconds_read", "seconds_apply", "dagster/column_schema", "dagster/column_lineage", "dagster/row_count",
        "rows_unfit",
    }  # fmt: skip
    assert expected <= set(metadata)
    assert list(metadata)[:2] == ["lag_seconds", "guarantee"], (
        "the page of an asset begins with how fresh and how sure it is"
    )
    assert metadata["guarantee"] == "settled"
    assert "transaction 102" in metadata["guarantee_reason"]
    assert metadata["dagster/row_count"] == 4
    assert metadata["lag_seconds"] == 11 * 60 + 2
    assert (metadata["rows_unfit"], "unfit" in metadata, "next_look" in metadata) == (0, False, False)


def test_a_landing_says_up_to_where_the_copy_was_verified(studio: Studio) -> None:
    monday(studio.world.database)
    assert "verified_through" not in told(studio.run("2024-01-01", mode="sync"))
    studio.check("reconciliation")
    order(studio.world.database, "grace", studio.world.database.stamp())
    found = told(studio.run("2024-01-01", mode="sync"))["verified_through"]
    assert found == studio.runtime.checkpoints.verified()[ORDERS].through


def test_rows_that_cannot_land_are_in_the_metadata_until_they_are_gone(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = UnfitRows(2, (("NaN", 2),), datetime(2024, 1, 29, 9, tzinfo=UTC))
    monkeypatch.setattr(FakeLake, "unfit", lambda _self, _spec: found)
    monday(studio.world.database)
    metadata = told(studio.run("2024-01-01", mode="sync"))
    assert (metadata["rows_unfit"], metadata["unfit"]) == (
        2,
        "2 rows of the source cannot land and are in quarantine since 2024-01-29 09:00Z: NaN (2)",
    )


def test_rows_of_a_contract_that_is_configured_no_more_are_told_in_its_metadata(studio: Studio) -> None:
    monday(studio.world.database)
    studio.world.lake.hold(orders(), [{"id": 7, "status": None}], 0)
    assert "the contract is no longer configured" in told(studio.run("2024-01-01", mode="sync"))["warnings"]


def test_assets_lie_downstream_of_the_tables_in_the_database_and_say_what_they_are(studio: Studio) -> None:
    graph = studio.definitions.resolve_asset_graph()
    node, source = graph.get(key(ORDERS)), graph.get(AssetKey(["shop", "source", "public", "orders"]))

    assert node.parent_keys == {source.key}
    assert not source.is_executable
    assert node.group_name == source.group_name == "shop"
    assert node.kinds == {"postgres", "pyspark", "deltalake"}
    assert node.metadata["dagster/table_name"] == "shop.public.orders"
    assert node.metadata["dagster/uri"].endswith("/lake/shop/public/orders")
    assert [column.name for column in source.metadata["dagster/column_schema"].columns] == [
        "id",
        "customer",
        "status",
        "updated_at",
    ]
    assert "a row lives in the window of its latest version" in (node.description or "")
    (reference,) = node.metadata["dagster/code_references"].code_references
    assert reference.line_number == 11


def test_a_copy_that_is_made_known_to_catalogues_has_its_name_in_the_first_and_so_has_its_history(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    terms = TERMS + "      history: scd2\n      register: {spark: {database: main.lake}}\n"
    graph = opened(tmp_path, instance, terms).definitions.resolve_asset_graph()
    names = [graph.get(key(each)).metadata["dagster/table_name"] for each in (ORDERS, ORDERS.history)]
    assert names == ["main.lake.public_orders", "main.lake.public_orders__history"]


@pytest.mark.parametrize(("every", "says"), [("week", True), ("month", False)])
def test_a_table_in_weeks_says_on_which_day_they_begin(
    tmp_path: Path, instance: DagsterInstance, *, every: str, says: bool
) -> None:
    studio = opened(tmp_path, instance, TERMS.replace("every: month", f"every: {every}"))
    description = studio.definitions.resolve_asset_graph().get(key(ORDERS)).description or ""
    assert ("A week begins on Sunday, and its key is that day." in description) is says


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (
            "cursor: {type: xmin}, strategy: upsert",
            "A partition is a range of numbers of the transactions that wrote the rows",
        ),
        ("cursor: {column: id, type: integer}", "A partition is a range of `id`"),
        (
            "cursor: {column: updated_at, type: timestamp}, strategy: append",
            "A partition is a window of `updated_at`: each version of a row that a sync saw stays in the window of its own value",
        ),
        (
            "cursor: {column: updated_at, type: timestamp}, strategy: upsert",
            "A partition is a window of `updated_at`: a row lives in the window of its latest version, and moves on when it changes",
        ),
    ],
)
def test_an_asset_says_what_a_partition_is_and_where_a_row_of_it_stays(
    tmp_path: Path, instance: DagsterInstance, table: str, says: str
) -> None:
    studio = opened(tmp_path, instance, f"- {{table: public.orders, {table}}}\n")
    assert says in (studio.definitions.resolve_asset_graph().get(key(ORDERS)).description or "")


def test_a_name_that_no_identifier_could_be_is_an_asset_like_every_other(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    from dataclasses import replace

    from tests.fakes import World
    from tests.scenario import ORDERS_SHAPE

    odd = TableId("shop", "public", 'we"ird; drop table x--.Tbl')
    tables = """- 'public."we""ird; drop table x--.Tbl":updated_at:timestamp!upsert'\n"""
    studio = opened(tmp_path, instance, tables)
    studio.world = World.of(replace(ORDERS_SHAPE, id=odd))
    studio.runtime.world = studio.world
    studio.world.database.insert(odd, id=1, customer="ada", status="new", updated_at="2024-01-05T00:00:00Z")

    assert studio.run("2024-01-01", tables=[odd], mode="sync", check=True).success
    assert studio.announced(odd) == ["2024-01-01"]
    studio.definitions.get_repository_def()


def recorded(studio: Studio, table: TableId) -> tuple[Status, str]:
    """What the checkpoint table remembers of the last sync."""
    report = studio.world.checkpoints.position(table).last_report
    assert report is not None, "the attempt left no row"
    return report.status, report.error or ""


def test_a_run_whose_source_does_not_answer_leaves_a_row_for_each_of_its_tables(studio: Studio) -> None:
    studio.runtime.broken = SourceUnreachable("shop: nobody answers at localhost:5432")
    run = studio.run("2024-01-01", mode="sync")

    assert not run.success
    assert failure(run) == "shop: nobody answers at localhost:5432"
    assert recorded(studio, ORDERS) == (Status.FAILED, "shop: nobody answers at localhost:5432")
    assert studio.world.checkpoints.kinds(ORDERS) == ["failed"]


def test_a_table_that_is_gone_from_the_source_leaves_a_row(studio: Studio) -> None:
    _ = studio.view
    del studio.world.database.tables[ORDERS]
    run = studio.run("2024-01-01", mode="sync")

    assert not run.success
    status, error = recorded(studio, ORDERS)
    assert status is Status.FAILED
    assert "no such table" in error
    assert error in failure(run)
