"""Many partitions are announced together, and Dagster shows them as if it had stored each of them itself."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetSelection,
    DagsterEventType,
    DagsterInstance,
    DailyPartitionsDefinition,
    EventLogEntry,
    asset,
    materialize,
)
from dagster._core.event_api import EventRecordsFilter
from dagster._core.events import StepMaterializationData
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster_postgres.event_log import PostgresEventLogStorage
from sqlalchemy import event
from sqlalchemy.engine import Engine

from incremental_assets.defs.announcing import announce, announce_without_run
from incremental_assets.defs.assets import sync_assets
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.defs.studio import Studio, opened
from tests.defs.watch import RANGE, Watch
from tests.scenario import ORDERS, order

DAYS = [f"2024-01-{day:02d}" for day in range(1, 32)]
KEY = AssetKey("orders")
KEY_OF_ORDERS = AssetKey([ORDERS.source, ORDERS.schema, ORDERS.name])

PLANNED = EventRecordsFilter(DagsterEventType.ASSET_MATERIALIZATION_PLANNED)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[DagsterInstance]:
    """An instance with the files that Dagster has by default."""
    with DagsterInstance.local_temp(str(tmp_path)) as instance:
        assert isinstance(instance.event_log_storage, SqliteEventLogStorage)
        yield instance


@pytest.fixture
def commits() -> Iterator[list[object]]:
    """Every transaction that is committed from now on."""
    seen: list[object] = []
    listener = seen.append
    event.listen(Engine, "commit", listener)
    yield seen
    event.remove(Engine, "commit", listener)


@pytest.fixture
def statements() -> Iterator[list[object]]:
    """Every statement from now on: Dagster's storage in PostgreSQL commits each of them."""
    seen: list[object] = []

    def note(*given: object) -> None:
        seen.append(given[2])

    event.listen(Engine, "before_cursor_execute", note)
    yield seen
    event.remove(Engine, "before_cursor_execute", note)


def by_us(context: AssetExecutionContext, days: list[str]) -> None:
    announce(context, KEY, {day: {"rows": int(day[-2:])} for day in days})


def by_dagster(context: AssetExecutionContext, days: list[str]) -> None:
    for day in days:
        context.log_event(AssetMaterialization(KEY, partition=day, metadata={"rows": int(day[-2:])}))


def told(instance: DagsterInstance, way: object, days: list[str], commits: list[object]) -> list[EventLogEntry]:
    """What a run on the first of February stores of these days; `commits` are those of that alone."""
    during = []

    @asset(partitions_def=DailyPartitionsDefinition("2024-01-01"), key=KEY)
    def orders(context: AssetExecutionContext) -> None:
        begin = len(commits)
        way(context, days)  # type: ignore[operator]
        during.extend(commits[begin:])

    run = materialize([orders], instance=instance, partition_key="2024-02-01")
    assert run.success
    commits[:] = during
    found = instance.fetch_materializations(KEY, limit=1000, ascending=True).records
    entries = [each.event_log_entry for each in found if each.run_id == run.run_id]
    return [each for each in entries if each.get_dagster_event().partition != "2024-02-01"]


def said(entries: list[EventLogEntry]) -> list[tuple[StepMaterializationData, object]]:
    events = [(entry, entry.get_dagster_event()) for entry in entries]
    return [
        (
            each.step_materialization_data,
            (each.message, each.step_key, each.step_kind_value, each.job_name, sorted(each.logging_tags), entry.level),
        )
        for entry, each in events
    ]


def test_partitions_that_are_announced_together_are_told_as_dagster_tells_them(
    kept: DagsterInstance, commits: list[object]
) -> None:
    ours = said(told(kept, by_us, DAYS, commits))
    theirs = said(told(kept, by_dagster, DAYS, commits))

    assert len(ours) == len(DAYS)
    assert ours == theirs


def test_as_many_transactions_for_a_month_as_for_a_day(kept: DagsterInstance, commits: list[object]) -> None:
    told(kept, by_us, DAYS[:1], commits)
    of_a_day = len(commits)
    told(kept, by_us, DAYS, commits)

    assert len(commits) == of_a_day
    told(kept, by_dagster, DAYS, commits)
    assert len(commits) >= 2 * len(DAYS), "what is counted is no transaction of Dagster's"


def test_the_run_and_the_asset_know_every_partition_that_was_announced(
    kept: DagsterInstance, commits: list[object]
) -> None:
    (entry, *_) = told(kept, by_us, DAYS, commits)
    logged = kept.all_logs(entry.run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION)

    assert {each.get_dagster_event().partition for each in logged} == {*DAYS, "2024-02-01"}
    assert kept.get_materialized_partitions(KEY) == {*DAYS, "2024-02-01"}
    assert kept.get_latest_materialization_event(KEY) is not None


def test_in_postgresql_too_a_month_takes_as_many_statements_as_a_day(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, statements: list[object]
) -> None:
    url = f"postgresql+psycopg2://{postgres.user}:{quote(postgres.password_of(postgres.user))}@/{database}?host={quote(str(postgres.host), safe='')}&port={postgres.port}"
    storage = {
        "module": "dagster_postgres.event_log",
        "class": "PostgresEventLogStorage",
        "config": {"postgres_url": url},
    }
    with DagsterInstance.local_temp(str(tmp_path), overrides={"event_log_storage": storage}) as instance:
        assert isinstance(instance.event_log_storage, PostgresEventLogStorage)
        told(instance, by_us, DAYS[:1], statements)
        of_a_day = len(statements)
        ours = said(told(instance, by_us, DAYS, statements))
        assert len(statements) == of_a_day
        assert ours == said(told(instance, by_dagster, DAYS, statements))
        assert len(statements) >= 2 * len(DAYS), "what is counted is no statement of Dagster's"
        assert instance.get_materialized_partitions(KEY) == {*DAYS, "2024-02-01"}


def test_partitions_that_no_run_announces_are_told_as_dagster_tells_them(
    kept: DagsterInstance, commits: list[object]
) -> None:
    theirs, ours = AssetKey("theirs"), AssetKey("ours")
    for day in DAYS:
        kept.report_runless_asset_event(AssetMaterialization(theirs, partition=day, metadata={"rows": int(day[-2:])}))
    commits.clear()
    announce_without_run(kept, ours, {DAYS[0]: {"rows": 1}})
    of_a_day = len(commits)
    commits.clear()
    announce_without_run(kept, ours, {day: {"rows": int(day[-2:])} for day in DAYS[1:]})

    assert len(commits) == of_a_day
    told = [kept.fetch_materializations(key, limit=1000, ascending=True).records for key in (theirs, ours)]
    shown = [
        [
            (each.partition_key, each.run_id, each.event_log_entry.level, each.event_log_entry.job_name)
            for each in of_one
        ]
        for of_one in told
    ]
    assert shown[0] == shown[1]
    assert [each.asset_materialization.metadata for each in told[0] if each.asset_materialization] == [
        each.asset_materialization.metadata for each in told[1] if each.asset_materialization
    ]
    assert kept.get_materialized_partitions(ours) == {*DAYS}
    assert {*kept.all_asset_keys()} == {theirs, ours}


FIVE_YEARS = """
    - {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, partitions: {every: day, from: 2019-01-01}}
"""


def first_sync(studio: Studio) -> tuple[int, list[str | None]]:
    """Events that the run of the first tick plans, and the partitions that it announces."""
    (request,) = Watch(studio).runs()
    tags = {**request.tags}
    selection = AssetSelection.assets(*(request.asset_selection or ())).without_checks()
    assets = [*studio.view.external(), *sync_assets(studio.view)]
    result = materialize(
        assets, selection=selection, resources={"runtime": studio.runtime}, instance=studio.instance, tags=tags
    )
    assert result.success
    assert tags[RANGE[0]] == tags[RANGE[1]]
    planned = studio.instance.get_event_records(PLANNED)
    found = studio.instance.fetch_materializations(KEY_OF_ORDERS, limit=5000).records
    return len(planned), sorted(record.partition_key or "" for record in found)


def test_a_first_sync_announces_from_the_first_row_on_and_dagster_plans_one_event(
    tmp_path: Path, kept: DagsterInstance
) -> None:
    studio = opened(tmp_path, kept, FIVE_YEARS, "unlisted: ignore\n")
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z")
    order(studio.world.database, "alan", "2024-01-29T08:00:00Z")
    studio.world.pass_time(10)

    assert first_sync(studio) == (1, [f"2024-01-{day:02d}" for day in range(5, 30)])


def test_an_empty_table_announces_nothing_and_its_first_row_the_partition_in_which_it_lies(
    tmp_path: Path, kept: DagsterInstance
) -> None:
    studio = opened(tmp_path, kept, FIVE_YEARS, "unlisted: ignore\n")
    assert first_sync(studio) == (1, [])

    order(studio.world.database, "ada", studio.world.database.stamp())
    studio.world.pass_time(10)
    assert first_sync(studio) == (2, ["2024-01-29"])
