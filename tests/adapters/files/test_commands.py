"""Files by the commands, in processes of their own, one of which is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from incremental_assets.adapters.delta.copied_rows import copied_rows
from incremental_assets.core.model.file_columns import FILE, ROW
from tests.adapters.files.drop import files
from tests.adapters.topics.test_commands import command, started

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

CONFIG = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  drop:
    dialect: files
    folder: ./in
    files:
      shop.orders: {path: "*.csv", format: csv, columns: {id: bigint, status: string}, settle: 0s}
    tables:
      - {table: shop.orders}
"""


def places(home: Path) -> list[tuple[str, int]]:
    from incremental_assets.adapters.files.shapes import declared, shape_of
    from incremental_assets.core.config.resolve import resolve
    from incremental_assets.core.config.settings import TableConfig
    from incremental_assets.core.strategies import Strategy

    made_of = files(columns={"id": "bigint"})
    found = declared(made_of)
    assert found is not None
    spec = resolve(
        TableConfig("shop", "orders", Strategy.UPSERT, capture="files"),
        shape_of("drop", made_of, Strategy.UPSERT, found),
    )
    rows = copied_rows(str(home / "lake"), spec, [FILE, ROW], None)
    return sorted(zip(rows.column(FILE).to_pylist(), rows.column(ROW).to_pylist(), strict=True))


def test_every_command_knows_files_and_a_killed_sync_is_made_good_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    incoming = tmp_path / "in"
    incoming.mkdir()
    (incoming / "a.csv").write_text("id,status\n1,new\n2,new\n")
    found = {each["subject"]: each["detail"] for each in command(tmp_path, "doctor")["findings"]}
    assert found["drop"] == "it has answered; its dialect is files"
    assert found["drop.shop.orders"] == "read from its files"
    (table,) = command(tmp_path, "sync")["tables"]
    assert (table["status"], table["guarantee"]) == ("landed", "settled")
    (incoming / "b.csv").write_text("id,status\n3,new\n")
    (planned,) = command(tmp_path, "plan")["tables"]
    assert (planned["guarantee"], planned["deletes"]) == ("settled", "no file says so")
    (stands,) = command(tmp_path, "status")["tables"]
    assert stands["lag_seconds"] > 0
    log = tmp_path / "lake/drop/shop/orders/_delta_log"
    there = len([*log.glob("*.json")])
    process = started(tmp_path, "sync")
    while len([*log.glob("*.json")]) == there:
        assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (table,) = command(tmp_path, "sync")["tables"]
    assert table["error"] is None
    assert places(tmp_path) == [("a.csv", 1), ("a.csv", 2), ("b.csv", 1)]
    (incoming / "a.csv").write_text("id,status\n9,new\n")
    (table,) = command(tmp_path, "sync", code=1)["tables"]
    assert "the file 'a.csv' (16 bytes) is no longer the one that landed" in table["error"]
    assert {each["table"]: each["error"] for each in command(tmp_path, "sync", "--full-refresh")["tables"]} == {
        "shop.orders": None
    }
    assert places(tmp_path) == [("a.csv", 1), ("b.csv", 1)]
