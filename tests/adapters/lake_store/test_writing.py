"""What tasks write of a table in a store is what they write in a folder, and a worker of Spark reaches it as its driver does."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.tasks.files.unit import Applied, ApplyUnit, Replacing
from incremental_assets.adapters.delta.tasks.matching.apply_task import apply
from incremental_assets.adapters.lake_store import opened
from incremental_assets.adapters.spark.store_settings import let_spark_reach
from incremental_assets.adapters.spark.tasks import Tasks
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.lake_store.test_rows import live, put_there
from tests.adapters.tasks.tables import Row, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_ID = Replacing((0,), compares=True)
FIRST = [(number, "a") for number in range(40_000)]
THEN = [(number, "b") for number in range(0, 40_000, 7)]


@pytest.fixture
def lake(relay: Relay) -> str:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    return f"{root}/lake"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, "id bigint, note string")


def there(table: Table, lake: str, rows: list[Row]) -> ApplyUnit:
    """The task that lands rows in the copy of a table that is in a store, where they are staged as well."""
    seen = log_cache.latest(f"{lake}/table")
    assert seen is not None
    table.seq += 1
    staged = table.stage(rows)
    put_there(staged, f"{lake}/{staged.name}")
    unit = table.unit(BY_ID, staged, seen.state)
    return replace(unit, table=f"{lake}/table", staged=f"{lake}/{staged.name}")


def commit(lake: str, done: Applied) -> None:
    seen = log_cache.latest(f"{lake}/table")
    assert seen is not None
    assert put_if_absent(
        f"{lake}/table", seen.state.version + 1, [{"commitInfo": {"operation": "WRITE"}}, *done.actions]
    )


def test_files_and_marks_are_written_as_in_a_folder(table: Table, lake: str) -> None:
    put_there(table.path, f"{lake}/table")
    for rows in (FIRST, THEN):
        commit(lake, apply(there(table, lake, rows)))
    seen = log_cache.latest(f"{lake}/table")
    assert seen is not None
    vectors = [each["deletionVector"]["storageType"] for each in seen.state.files.values() if "deletionVector" in each]
    assert vectors == ["u"], "it stands in a file of its own"
    rows = [(row["id"], row["note"]) for row in live(f"{lake}/table", table)]
    assert sorted(rows) == sorted(dict([*FIRST, *THEN]).items())


def test_a_worker_reaches_the_store_as_its_driver_does(
    table: Table, lake: str, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    put_there(table.path, f"{lake}/table")
    secret = options("")["aws_secret_access_key"]
    done = Tasks(lambda: spark, lake).run(
        "incremental_assets.adapters.delta.tasks.matching.apply_task", there(table, lake, FIRST[:10])
    )
    commit(lake, done)
    assert [row["id"] for row in live(f"{lake}/table", table)] == list(range(10))
    told = capfd.readouterr()
    processes = [
        file.read_bytes().decode(errors="replace") for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()
    ]
    assert all(
        secret not in text for text in (told.out, told.err, *processes, repr(spark.sparkContext.getConf().getAll()))
    )


def test_how_a_store_is_reached_shows_nothing_of_it(lake: str) -> None:
    given = opened.reached(lake)
    assert given is not None
    assert "no secret" not in f"{given!r} {given}"
    assert pickle.loads(pickle.dumps(given)).options == given.options


def test_a_lake_that_the_environment_tells_of_and_one_in_a_folder_give_a_task_nothing(tmp_path: Path) -> None:
    assert opened.reached(str(tmp_path)) is None
    assert opened.reached("s3a://a-bucket-of-the-environment/lake") is None


def test_a_task_that_has_the_store_open_goes_on_with_it(lake: str) -> None:
    before = opened.store_of(lake)
    opened.reach(opened.reached(lake))
    assert opened.store_of(lake) is before
    given = opened.reached(lake)
    assert given is not None
    opened.reach(replace(given, options={**given.options, "aws_region": "eu-central-1"}))
    assert opened.options_of(lake)["aws_region"] == "eu-central-1"


def test_spark_is_told_of_the_bucket_behind_its_start_and_of_no_other(spark: SparkSession, tmp_path: Path) -> None:
    lake = "s3a://a-bucket/lake"
    opened.configure(lake, lambda: options("127.0.0.1:1"))
    let_spark_reach(spark, lake)
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    told = {
        name: hadoop.get(f"fs.s3a.bucket.a-bucket.{name}")
        for name in ("endpoint", "access.key", "secret.key", "path.style.access")
    }
    assert list(told.values()) == ["http://127.0.0.1:1", "tester", "no secret", "true"]
    assert hadoop.get("fs.s3a.secret.key") is None
    assert "no secret" not in repr(spark.sparkContext.getConf().getAll())
    let_spark_reach(spark, str(tmp_path))
