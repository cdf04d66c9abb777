"""A topic of a real broker by the commands, in processes of their own, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.delta.copied_rows import copied_rows
from tests.adapters.topics.broker import as_bytes, recorded
from tests.adapters.topics.registry_server import RegistryServer, registry_server
from tests.adapters.topics.server import KafkaServer
from tests.adapters.topics.tables import table, topic

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

CONFIG = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: kafka
    bootstrap_servers: {address}{registry}
    topics:
      shop.orders: {{topic: lab.shop.orders, format: {form}}}
      shop.clicks: {{topic: clicks, format: json, columns: {{who: bigint}}}}
    tables:
      - {{table: shop.orders}}
      - {{table: shop.clicks, strategy: append}}
"""


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with registry_server() as server:
        yield server


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    home = folder / "dagster"
    home.mkdir(exist_ok=True)
    own = {"INCREMENTAL_ASSETS_CONFIG": str(folder / "sources.yaml"), "DAGSTER_HOME": str(home)}
    command = [str(Path(sys.executable).with_name("incremental-assets")), *arguments, "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=os.environ | own, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def command(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    process = started(folder, *arguments)
    out, err = process.communicate(timeout=280)
    assert process.returncode == code, (process.returncode, out, err)
    found: dict[str, Any] = json.loads(out)
    return found


def ids(folder: Path) -> list[int]:
    rows = copied_rows(str(folder / "lake"), table(topic(id="bigint")), ["id"], None)
    return sorted(rows.column("id").to_pylist())


@pytest.mark.parametrize("form", ["debezium", "debezium-avro"])
def test_every_command_knows_a_topic_and_a_killed_sync_is_made_good_by_the_next(
    kafka: KafkaServer, registry: RegistryServer, tmp_path: Path, form: str
) -> None:
    orders, clicks, in_avro = f"lab.shop.orders-{form}", f"clicks-{form}", form == "debezium-avro"
    where = f'\n    schema_registry: {{url: "{registry.url}"}}' if in_avro else ""
    text = CONFIG.format(address=kafka.address, registry=where, form=form)
    (tmp_path / "sources.yaml").write_text(
        text.replace("lab.shop.orders", orders).replace("topic: clicks", f"topic: {clicks}")
    )
    kafka.make(orders)
    kafka.make(clicks, 2)
    encode = registry.as_bytes if in_avro else as_bytes
    records = [(encode(key), encode(value)) for key, value in recorded("pg_schemas")]
    kafka.put(orders, records[:4])
    kafka.put(clicks, [(None, b'{"who": 1}', 0), (None, b'{"who": 2}', 1)])
    told = {each["subject"]: each["detail"] for each in command(tmp_path, "doctor")["findings"]}
    assert told["shop"] == "it has answered; its dialect is kafka"
    assert told["shop.shop.orders"] == "read from its topic"
    assert {each["table"]: each["status"] for each in command(tmp_path, "sync")["tables"]} == {
        "shop.orders": "landed",
        "shop.clicks": "landed",
    }
    kafka.put(orders, records[4:12])
    planned = {each["table"]: each for each in command(tmp_path, "plan")["tables"]}
    assert (planned["shop.orders"]["guarantee"], planned["shop.orders"]["deletes"]) == (
        "as_delivered",
        "a record says so",
    )
    lag = {each["table"]: each["lag_seconds"] for each in command(tmp_path, "status")["tables"]}
    assert (lag["shop.orders"] > 0, lag["shop.clicks"]) == (True, 0.0)
    log = tmp_path / "lake/shop/shop/orders/_delta_log"
    there = len([*log.glob("*.json")])
    process = started(tmp_path, "sync")
    while len([*log.glob("*.json")]) == there:
        assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert {each["error"] for each in command(tmp_path, "sync")["tables"]} == {None}
    assert ids(tmp_path) == [1, 100]
    kafka.put(orders, records[4:12])
    command(tmp_path, "sync")
    assert ids(tmp_path) == [1, 100], "the connector has repeated itself"
    kafka.put(orders, records[12:])
    command(tmp_path, "sync")
    assert ids(tmp_path) == [77]
