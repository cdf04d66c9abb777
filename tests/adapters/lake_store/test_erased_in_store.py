"""A person is erased from a lake in a store, as from one in a folder; a bucket that keeps versions of objects says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from incremental_assets.adapters.erasure.beyond import kept_versions
from incremental_assets.core.model.erasure import Place
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.erasure.erasing import SECRET, dying, erased, grounds, places
from tests.adapters.lake_store.bucket import new_bucket
from tests.adapters.lake_store.shop_in_store import SECRET as LAKE_SECRET
from tests.adapters.lake_store.shop_in_store import StoreStand, shop_in_store
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "\n- {table: public.people, cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2}\n"


@pytest.fixture
def stand(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, object_server: str, monkeypatch: pytest.MonkeyPatch
) -> StoreStand:  # fmt: skip
    given = {"SHOP_PASSWORD": PASSWORD, "LAKE_KEY": "tester", "LAKE_SECRET": LAKE_SECRET, "ERASURE_KEY": SECRET}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shop = shop_in_store(
        postgres, database, tmp_path, object_server, new_bucket(object_server), TABLE, options="unlisted: ignore"
    )
    shop.config.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{shop.config.read_text()}")
    stand = StoreStand(shop, spark)
    stand.execute(
        "CREATE TABLE people (id int PRIMARY KEY, mail text, age int, at timestamptz NOT NULL DEFAULT clock_timestamp())",
        "INSERT INTO people VALUES (1, 'one@example.com', 40), (900001, 'ann.planted@example.com', 40), (900009, 'nine@example.com', 40)",
    )
    stand.land()
    stand.execute("UPDATE people SET age = 41, at = clock_timestamp() WHERE id = 900001")
    stand.land()
    return stand


def test_nothing_is_left_in_a_store_and_syncs_go_on(stand: StoreStand, object_server: str) -> None:
    assert places(stand) >= {Place.COPY, Place.HISTORY}
    erased(stand)
    assert places(stand) == set()
    stand.execute("UPDATE people SET age = 50, at = clock_timestamp() WHERE id IN (1, 900001)")
    stand.land()
    assert places(stand) == set()
    assert [row[0] for row in stand.copy("people", "id")] == [1, 900009]
    assert {row[0] for row in stand.history("people", "id")} == {1, 900009}

    assert kept_versions(grounds(stand)) == ""
    server: Any = boto3.client(
        "s3",
        endpoint_url=f"http://{object_server}",
        region_name="us-east-1",
        aws_access_key_id="tester",
        aws_secret_access_key=LAKE_SECRET,
    )
    server.put_bucket_versioning(
        Bucket=stand.shop.root.removeprefix("s3://"), VersioningConfiguration={"Status": "Enabled"}
    )
    erased(stand)
    assert "keeps versions of objects" in kept_versions(grounds(stand))


@pytest.mark.acceptance
@pytest.mark.parametrize("step", ["keep_out", "rewrite", "remove_files", "remove_logs"])
def test_an_erasure_in_a_store_that_dies_is_completed_by_the_same_call(
    stand: StoreStand, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dying(monkeypatch, step):
        erased(stand)
    stand.land()
    erased(stand)
    assert places(stand) == set()
    assert [row[0] for row in stand.copy("people", "id")] == [1, 900009]
