"""Which files a log names, in a folder and in a store."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.log.referenced import referenced
from incremental_assets.adapters.lake_store import opened
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from tests.adapters.lake_store.bucket import new_bucket, options

PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
COLUMNS = {"metaData": {"id": "a", "schemaString": '{"type":"struct","fields":[]}', "partitionColumns": []}}
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 1,
    "sizeInBytes": 1,
    "cardinality": 1,
}
"""In the protocol's own example it is this file, in the folder `ab`."""
ITS_FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def add(path: str, **more: Any) -> dict[str, Any]:
    return {"add": {"path": path, "size": 1, "modificationTime": 1, "partitionValues": {}, "dataChange": True, **more}}


def remove(path: str, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, **more}}


@pytest.fixture(params=["folder", "store"])
def path(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[str]:
    if request.param == "folder":
        (tmp_path / "t/_delta_log").mkdir(parents=True)
        yield f"{tmp_path}/t"
        return
    server = request.getfixturevalue("object_server")
    root = new_bucket(server)
    opened.configure(root, lambda: options(server))
    yield f"{root}/t"


def commit(path: str, *versions: list[dict[str, Any]]) -> None:
    for number, actions in enumerate(versions):
        info = {"commitInfo": {"operation": "WRITE", "txnId": str(uuid.uuid4())}}
        assert put_if_absent(path, number, [info, *actions])


def test_what_is_live_at_a_version_and_all_that_comes_later_is_named(path: str) -> None:
    commit(
        path,
        [PROTOCOL, COLUMNS, add("0.parquet"), add("old.parquet")],
        [remove("old.parquet"), add("x=a%2520b/1.parquet")],
        [
            add("2.parquet"),
            {"cdc": {"path": "_change_data/c.parquet", "size": 1, "partitionValues": {}, "dataChange": False}},
        ],
        [remove("2.parquet"), remove("0.parquet"), add("0.parquet", deletionVector=VECTOR)],
        [remove("0.parquet", deletionVector=VECTOR), add("0.parquet")],
    )
    assert referenced(path, 4).names == {"0.parquet", "x=a%20b/1.parquet"}
    assert referenced(path, 3).names == {"0.parquet", "x=a%20b/1.parquet", ITS_FILE}
    assert referenced(path, 1).names == {
        "0.parquet", "x=a%20b/1.parquet", "2.parquet", "_change_data/c.parquet", ITS_FILE
    }  # fmt: skip
    assert "old.parquet" in referenced(path, 0).names
    assert referenced(path, 0).version == 4


@pytest.mark.parametrize("where", ["file:///elsewhere/a.parquet", "/elsewhere/a.parquet", "../b/a.parquet"])
def test_a_log_that_names_files_elsewhere_is_left_to_delta(path: str, where: str) -> None:
    commit(path, [PROTOCOL, COLUMNS], [add(where)])
    with pytest.raises(NotByTasks, match="a file lies outside of the table"):
        referenced(path, 0)
