"""docs/deployment.md, done: what changes is in the lake a little later, onlookers cannot change a thing, and what is killed heals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.e2e.stand import COMMANDS, DOCS, PAGE, PROCESSES, Stand, command

RUNS = "{ runsOrError(limit: 20) { ... on Runs { results { runId status assetCheckSelection { name } tags { key value } } } } }"
LAST_WORDS = """
query ($run: ID!) { logsForRun(runId: $run) { ... on EventConnection { events { ... on MessageEvent { message } } } } }
"""
PLACE = 'repositoryName: "__repository__", repositoryLocationName: "incremental_assets"'
SENSOR = f'mutation {{ startSensor(sensorSelector: {{{PLACE}, sensorName: "sync__shop__sensor"}}) {{ __typename }} }}'
LAUNCH = f"""
mutation {{ launchRun(executionParams: {{selector: {{{PLACE}, jobName: "check__shop__job"}}, runConfigData: "{{}}"}}) {{ __typename }} }}
"""


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    server = EmbeddedPostgres(tmp_path / "server", settings={"fsync": "off"})
    server.start()
    this = Stand(tmp_path, server)
    yield this
    this.kill(*this.processes)
    server.remove()


def execute(stand: Stand, *statements: str) -> None:
    """As the owner of the source."""
    with psycopg.connect(stand.server.dsn("shop")) as connection:
        for statement in statements:
            connection.execute(statement)


def is_equal(stand: Stand) -> bool:
    """Whether the copy is the source as it is now; asked without a JVM."""
    path = stand.folder / "lake" / "shop" / "public" / "orders"
    if not any((path / "_delta_log").glob("*.json")):
        return False
    with psycopg.connect(stand.server.dsn("shop")) as connection:
        truth = connection.execute("SELECT id, note FROM orders ORDER BY id").fetchall()
    query = QueryBuilder().register("orders", DeltaTable(path)).execute("SELECT id, note FROM orders ORDER BY id")
    return [tuple(row.values()) for row in pa.table(query).to_pylist()] == truth


def runs(stand: Stand) -> list[dict[str, Any]]:
    """Newest first, as the onlookers' UI shows them."""
    return (stand.ask(RUNS) or {}).get("runsOrError", {}).get("results", [])


def landed(stand: Stand) -> int:
    """Syncs that the checkpoints in PostgreSQL know to have landed."""
    with psycopg.connect(stand.server.dsn("checkpoints")) as connection:
        found = connection.execute("SELECT count(*) FROM checkpoints WHERE event = 'landed'").fetchone()
    return found[0] if found else 0


def leases(stand: Stand) -> int:
    """Tables that a run holds."""
    with psycopg.connect(stand.server.dsn("checkpoints")) as connection:
        found = connection.execute("SELECT count(*) FROM heartbeats WHERE token IS NOT NULL").fetchone()
    return found[0] if found else 0


@pytest.mark.acceptance
@pytest.mark.timeout(900)
def test_the_deployment_of_the_page_syncs_refuses_onlookers_and_heals(stand: Stand) -> None:
    execute(
        stand,
        "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
        "GRANT SELECT ON orders TO sync_reader",
        "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 100) n",
    )
    stand.run(command("instance migrate"))
    stand.run(command("doctor"))
    stand.start(*PROCESSES)
    stand.wait(lambda: stand.is_well(command("grpc-health-check")))
    stand.wait(lambda: stand.is_well(command("liveness-check")))

    # The first load, asked for by the sensor.
    stand.wait(lambda: is_equal(stand))
    stand.wait(lambda: [run["status"] for run in runs(stand)] == ["SUCCESS"])
    stand.wait(lambda: not any(child.name() == "java" for child in stand.children("code location")))
    (first,) = runs(stand)
    assert {"key": "mode", "value": "sync"} in first["tags"]
    assert first["assetCheckSelection"] == [], "None would be all checks of the tables, and they read them whole"

    # The onlookers' server refuses what the other one does.
    for change in (SENSOR, LAUNCH):
        (answer,) = stand.ask(change).values()
        assert answer["__typename"] == "UnauthorizedError", change
    assert len(runs(stand)) == 1
    assert stand.ask(SENSOR, port="WEBSERVER_PORT")["startSensor"]["__typename"] == "Sensor"

    # The machine goes down in the middle of a run: daemon, code location, run and JVM at once.
    execute(stand, "INSERT INTO orders SELECT n, 'second' FROM generate_series(101, 300) n")
    stand.wait(lambda: len(runs(stand)) == 2 and runs(stand)[0]["status"] == "STARTED")
    stand.wait(lambda: any(child.name() == "java" for child in stand.children("code location")))
    before = landed(stand)
    stand.kill("daemon", "code location")
    killed = runs(stand)[0]
    assert (killed["status"], landed(stand)) == ("STARTED", before)

    # Started again, it finds its way by itself, and the history tells what happened.
    stand.start("code location", "daemon")
    stand.wait(lambda: is_equal(stand), seconds=420)
    stand.wait(lambda: len(runs(stand)) == 3 and runs(stand)[0]["status"] == "SUCCESS")
    assert [run["status"] for run in runs(stand)] == ["SUCCESS", "FAILURE", "SUCCESS"]
    told = stand.ask(LAST_WORDS, {"run": killed["runId"]})["logsForRun"]["events"]
    # By run monitoring or by the sensor's tick, whichever looked first.
    assert any("the next sync goes on from what had landed" in event["message"] for event in told)

    # Stopped in the middle of a run, the code location ends it, too; started again, it goes on.
    execute(stand, "INSERT INTO orders SELECT n, 'third' FROM generate_series(301, 400) n")
    stand.wait(lambda: len(runs(stand)) == 4 and runs(stand)[0]["status"] == "STARTED")
    stand.wait(lambda: any(child.name() == "java" for child in stand.children("code location")))
    at_work = runs(stand)[0]["runId"]
    assert stand.stop("code location", seconds=10) == 0
    # The sensor may have asked again by now: such a run is above this one.
    assert {run["runId"]: run["status"] for run in runs(stand)}[at_work] == "FAILURE"
    assert leases(stand) == 0, (stand.folder / "code location.log").read_text()[-6000:]
    stand.start("code location")
    stand.wait(lambda: is_equal(stand))
    stand.wait(lambda: runs(stand)[0]["status"] == "SUCCESS")
    assert [stand.stop(name) for name in ("daemon", "code location")] == [0, 0]

    # What is to be backed up, and what an upgrade does.
    stand.run(command("pg_dump"))
    assert (stand.folder / "checkpoints.dump").stat().st_size > 0
    assert [stand.stop(name) for name in ("webserver", "read-only")] == [0, 0]
    stand.run(command("instance migrate"))


def test_every_command_of_the_page_is_one_that_the_test_above_runs() -> None:
    # The fault report makes a lake for a group: it needs an account of that group.
    told = (
        "install",
        "doctor",
        "grpc-health-check",
        "liveness-check",
        "pg_dump",
        "instance migrate",
        *PROCESSES.values(),
    )
    assert sorted(command(words) for words in told) == sorted(COMMANDS)


def test_the_unit_of_the_page_starts_what_the_page_starts() -> None:
    (start,) = re.findall(r"^ExecStart=(.*)$", PAGE, re.MULTILINE)
    assert start == command(PROCESSES["code location"])


def test_the_page_says_why_of_every_setting() -> None:
    settings = yaml.safe_load((DOCS / "deployment" / "dagster.yaml").read_text(encoding="utf-8"))
    reasons = PAGE.split("## Each setting, and why")[1].split("\n## ")[0]
    for name, values in settings.items():
        names = [name] if name in ("storage", "retention", "telemetry", "nux") else leaves(values)
        assert [each for each in names if each not in reasons] == [], name


def leaves(value: object) -> list[str]:
    """The names that hold a value, and the classes and tags that stand for what they configure."""
    if isinstance(value, list):
        return [name for each in value for name in leaves(each)]
    assert isinstance(value, dict)
    if "key" in value or "class" in value:
        return [value.get("key") or value["class"], *leaves(value.get("config", {}))]
    nested = [name for each in value.values() if isinstance(each, dict | list) for name in leaves(each)]
    return [name for name, each in value.items() if not isinstance(each, dict | list)] + nested


def test_no_file_of_the_deployment_holds_a_secret() -> None:
    folder = DOCS / "deployment"
    for path in (path for path in folder.rglob("*") if path.is_file()):
        # psql's `:'name'` is a variable, which it fills in.
        text = re.sub(r":'\w+'", "", path.read_text(encoding="utf-8"))
        for value in re.findall(r"(?i)password\w*\s*[:=]\s*(\S+)", text):
            assert value.startswith("{env:"), (path, value)
