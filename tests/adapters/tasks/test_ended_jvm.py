"""A JVM that ends while tasks look at a copy is told in one sentence, whatever they look for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import SparkEnded
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.window import Window
from tests.adapters.batches import ORDERS, Desk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYWHERE = KeyParts(0, 10)


def test_what_tasks_were_asked_of_a_copy_names_the_end_of_the_jvm(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "lake", spark)
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    rows, keys = desk.lake.placed_rows(ORDERS, [Window(None, None)]), desk.lake.keys(ORDERS)
    assert keys is not None

    def ended(*_: object) -> NoReturn:
        raise Py4JNetworkError("the answer from Java is empty")

    with subprocess.Popen(["sleep", "600"]) as process:
        process.kill()
        monkeypatch.setattr(Tasks, "run_all", ended)
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        for ask in (
            rows.spread,
            lambda: rows.sums(EVERYWHERE, 1),
            lambda: rows.hashes(EVERYWHERE),
            keys.spread,
            lambda: keys.sums(EVERYWHERE, 1),
            lambda: keys.texts(EVERYWHERE),
        ):
            with pytest.raises(SparkEnded, match=f"pid {process.pid}"):
                ask()
        monkeypatch.undo()
