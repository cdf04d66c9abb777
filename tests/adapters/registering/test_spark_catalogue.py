"""Copies in the catalogue of a Spark session: known by name where they lie, and refused where nobody would find them or somebody else's table is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from incremental_assets.adapters.registering.spark_catalogue import SparkCatalogue, _address
from incremental_assets.core.errors import RegistrationRefused
from incremental_assets.core.model.registration import Catalogue, Described, Place
from incremental_assets.core.model.table_id import TableId

ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""Runs a command in a network that nobody else reaches."""
PROGRAM = Path(__file__).with_name("with_metastore.py")


def seen(how: str, folder: Path, within: Sequence[str] = ()) -> dict[str, Any]:
    """What a process with a metastore has seen; `within`: what it is run by."""
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parents[3])}
    done = subprocess.run(
        [*within, sys.executable, str(PROGRAM), how, str(folder)],
        capture_output=True,
        check=False,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def has_network_of_its_own() -> bool:
    """Whether a process may have one."""
    tools = all(map(shutil.which, ("unshare", "ip")))
    return tools and subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode == 0


def test_a_session_that_keeps_its_catalogue_in_memory_is_refused() -> None:
    session: Any = SimpleNamespace(conf={"spark.sql.catalogImplementation": "in-memory"})
    catalogue, place = SparkCatalogue(lambda: session), Place(Catalogue.SPARK, "lake", "orders")
    for ask in (
        lambda: catalogue.put(place, TableId("shop", "main", "orders"), Described("/lake", ())),
        lambda: catalogue.check(place),
    ):
        with pytest.raises(RegistrationRefused, match="keeps its catalogue in memory, where nobody else finds a table"):
            ask()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:/a b/c", "/a b/c"),
        ("file:///a/b/", "/a/b"),
        ("s3a://bucket/lake/", "s3a://bucket/lake"),
    ],
)
def test_one_folder_is_one_however_spark_writes_it(one: str, other: str) -> None:
    assert _address(one) == _address(other)
    assert _address(one) != _address(f"{other}2")


@pytest.mark.acceptance
@pytest.mark.parametrize("how", ["own", "thrift"])
def test_syncs_in_a_session_with_a_hive_metastore_make_their_copies_known(tmp_path: Path, how: str) -> None:
    if how == "thrift" and not has_network_of_its_own():
        pytest.skip("no process may have a network of its own here")
    found = seen(how, tmp_path, ALONE if how == "thrift" else ())
    status, warning = found["before"]
    assert status == "landed"
    assert "it has no database lake; make it: `CREATE SCHEMA lake`; the next sync tries again" in warning
    assert found["made"] == ["landed"]
    assert found["changed"] == ["landed"]
    assert found["rows"] == [[1, "first", None], [2, "second", 7]]


@pytest.mark.acceptance
def test_through_connect_a_copy_is_known_by_name_and_no_other_table_is_touched(tmp_path: Path) -> None:
    found = seen("connect", tmp_path)
    assert found["columns"][0] == ["id", "bigint", "its number"]
    assert found["rows"] == found["still"] == [[1]]
    # The copy was only looked at.
    assert found["versions"] == 1
    assert f"which lies in file:{tmp_path}/the lake/orders and not in {tmp_path}/the lake/others" in found["elsewhere"]
    assert "there is a table of this name which is no Delta table" in found["no_delta"]
    assert found["no_database"] == found["unchecked"] == "it has no database nowhere; make it: `CREATE SCHEMA nowhere`"
    assert found["no_catalogue"].startswith("the session has no catalogue main; configure it where the session comes")
