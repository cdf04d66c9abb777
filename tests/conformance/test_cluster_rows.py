"""T94: what is no database as a source, by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.object_store import KEY, EmbeddedObjectStore
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.files.place import StoredPlace
from tests.adapters.lake_store.bucket import Relay
from tests.adapters.lake_store.seaweed import new_bucket
from tests.adapters.logs.opening import log_database
from tests.adapters.logs.test_in_store import CHANGES as LOGGED_CHANGES
from tests.adapters.logs.test_in_store import opened as opened_by_log
from tests.conformance.file_stand import BY_ORDER, FileStand
from tests.conformance.scenario import of_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(900)


@of_cluster(
    "T94",
    "Tables that are read from PostgreSQL's log, one with its history and one with each change as a row",
    holds="every change lands in the store, with its version, once",
)
def test_tables_by_the_log(
    logged: EmbeddedPostgres,
    seaweed: EmbeddedObjectStore,
    relay: Relay,
    clustered: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("server", f"SeaweedFS {seaweed.version}")
    for name, value in (("LAKE_KEY", KEY), ("LAKE_SECRET", seaweed.secret)):
        monkeypatch.setenv(name, value)
    with log_database(logged) as database:
        stand = opened_by_log(logged, database, tmp_path, clustered, relay, new_bucket(seaweed))
        stand.land()
        stand.execute(*LOGGED_CHANGES)
        stand.land()
        stand.assert_equal("orders")
        of_three = [row for row in stand.history("orders", "id", "status", "_is_current") if row[0] == 3]
        assert of_three == [(3, "new", False), (3, "paid", True)]
        told = [row[2:] for row in sorted(stand.copy("events", "_commit_lsn", "_change_number", "_op", "id", "what"))]
        assert [row for row in told if row[0] != "r"] == [("u", 1, "is"), ("d", 2, None)]


@of_cluster(
    "T94",
    "Files in a store, of which the newest row of each key lands; more come, one comes in place of another, one goes",
    holds="after each sync the copy has of each key the newest row that any file had",
)
def test_files(seaweed: EmbeddedObjectStore, clustered: SparkSession, tmp_path: Path) -> None:
    bucket = new_bucket(seaweed).removeprefix("s3://")
    files = FileStand.open(StoredPlace(tmp_path, clustered, bucket, seaweed.options()))
    files.configure(more=f"{BY_ORDER}, changed: again")
    files.put("one.csv", (1, "new", 1), (2, "new", 1))
    files.put("two.csv", (2, "paid", 2), (3, "new", 1))
    files.land()
    files.put("one.csv", (1, "sent", 3), (2, "late", 1))
    files.put("three.csv", (4, "new", 1))
    files.place.remove("two.csv")
    files.land()
    found = sorted((row["id"], row["status"], row["at"]) for row in files.place.rows())
    assert found == [(1, "sent", 3), (2, "paid", 2), (3, "new", 1), (4, "new", 1)]
