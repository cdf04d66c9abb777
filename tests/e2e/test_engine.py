"""The engine started once: every run finds it, no run needs it, and it may die at any moment."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.e2e.watched import Watched, life_goes_on
from tests.shop import PASSWORD, THREE_STRATEGIES, Shop, kill, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(600)]

OWN = "its own session"


def test_every_run_finds_the_engine_and_none_needs_it(watched: Watched, spark: SparkSession) -> None:
    shop = watched.shop
    assert watched.engine("status") == (1, {"running": False})

    # Started, once.
    code, first = watched.engine("start")
    assert (code, first["running"], first["started"]) == (0, True, True)
    code, again = watched.engine("start")
    assert (code, again) == (0, first | {"started": False})
    code, status = watched.engine("status")
    assert (code, status["usable"], status["pid"], status["spark"]) == (0, True, first["pid"], "4.2.0")
    assert status["resident_bytes"] > 100 * 2**20
    java = watched.process
    assert java.name() == "java"
    assert {each.laddr.ip for each in java.net_connections("tcp")} <= {"127.0.0.1", "::ffff:127.0.0.1"}

    # First load, a tick, and the proof of it: no JVM but the engine's.
    for change in (False, True):
        if change:
            life_goes_on(shop)
        done, jvm = watched.sync()
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert not jvm
        watched.assert_equal(spark)
    checked = shop.run("check", "--json")
    assert checked.returncode == 0, (checked.stdout, checked.stderr)
    assert {check["check"] for check in json.loads(checked.stdout)["checks"]} >= {"reconciliation", "duplicates"}

    # The source refuses a read: one sentence, and no password anywhere.
    shop.execute("ALTER TABLE prices ADD COLUMN bad int", "REVOKE SELECT ON orders FROM reader")
    life_goes_on(shop)
    refused, _ = watched.sync()
    assert refused.returncode == 1
    token = json.loads(watched.files["engine.json"].read_text())["token"]
    commands = "\n".join("\n".join(each.cmdline()) for each in psutil.process_iter() if readable(each))
    for secret in (PASSWORD, token):
        assert secret not in watched.files["engine.log"].read_text()
        assert secret not in refused.stdout + refused.stderr
        assert secret not in commands
    assert PASSWORD not in java.environ().values()
    folder = watched.files["engine.json"].parent
    assert [path.stat().st_mode & 0o077 for path in (folder, folder / "engine.json", folder / "engine.log")] == [
        0,
        0,
        0,
    ]
    shop.execute("GRANT SELECT ON orders TO reader", "ALTER TABLE prices DROP COLUMN bad")

    # Stopped, once; the next run starts Spark itself and is just as right.
    assert watched.engine("stop") == (0, {"running": False, "stopped": True})
    assert watched.engine("stop") == (0, {"running": False, "stopped": False})
    # One of which its parent has not taken notice is over all the same.
    assert not java.is_running() or java.status() == psutil.STATUS_ZOMBIE
    life_goes_on(shop)
    done, jvm = watched.sync()
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert jvm
    assert OWN not in done.stderr
    watched.assert_equal(spark)


def readable(process: psutil.Process) -> bool:
    """Whether it is there and its command line may be read."""
    try:
        return bool(process.cmdline())
    except psutil.Error:
        return False


@pytest.mark.long
@pytest.mark.parametrize("event", ["intent", "staged", "landed"])
def test_a_run_whose_engine_is_killed_goes_on_by_itself(watched: Watched, spark: SparkSession, event: str) -> None:
    shop = watched.shop
    watched.engine("start")
    shop.sync()
    life_goes_on(shop)
    java, before = watched.process, len(shop.events())

    process = shop.start("sync", "--json")
    reached = wait_for(lambda: [each for _, each in shop.events()[before:]].count(event) >= 1, process)
    assert reached, process.communicate()
    java.kill()
    out, err = process.communicate(timeout=240)

    assert process.returncode == 0, (out, err)
    assert f"the engine (pid {java.pid}) has ended; this run continues in {OWN}" in err
    assert "Traceback" not in err
    watched.assert_equal(spark)

    # What is announced is not there any more: said by each run until somebody starts another one, or forgets it.
    life_goes_on(shop)
    done, jvm = watched.sync()
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert jvm
    assert f"the engine (pid {java.pid}) has ended by itself" in done.stderr
    watched.assert_equal(spark)
    code, started = watched.engine("start")
    assert (code, started["started"]) == (0, True)
    life_goes_on(shop)
    done, jvm = watched.sync()
    assert (done.returncode, jvm) == (0, False)
    watched.assert_equal(spark)


@pytest.mark.long
def test_an_engine_of_another_release_is_not_used_and_said_so(watched: Watched, spark: SparkSession) -> None:
    watched.engine("start")
    file = watched.files["engine.json"]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"made_from": "other jars"}))
    code, status = watched.engine("status")
    assert (code, status["usable"]) == (1, False)
    code, refused = watched.engine("start")
    assert code == 1
    for sentence in (status["reason"], refused["error"]["message"]):
        assert "started with another Java, another Spark, other jars" in sentence
    done, jvm = watched.sync()
    assert (done.returncode, jvm) == (0, True)
    assert "is not used, as it was started with another Java" in done.stderr
    watched.assert_equal(spark)


@pytest.mark.long
def test_two_sources_at_once_are_synced_by_two_processes_on_one_engine(
    watched: Watched, spark: SparkSession, postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    postgres.create_database(other := f"{watched.shop.database}_other")
    (tmp_path / "other").mkdir()
    second = Shop.open(postgres, other, tmp_path / "other", THREE_STRATEGIES, options="unlisted: ignore")
    second.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
        "CREATE TABLE prices (sku text PRIMARY KEY, price numeric(8,2))",
        "INSERT INTO orders (id, note) SELECT n, 'second' FROM generate_series(1, 700) n",
        "INSERT INTO events (what) SELECT 'second ' || n FROM generate_series(1, 700) n",
        "INSERT INTO prices SELECT 'second' || n, n FROM generate_series(1, 70) n",
    )
    watched.engine("start")
    homes = [Path(shop.environment["DAGSTER_HOME"]) for shop in (watched.shop, second)]
    (homes[1] / "engine").symlink_to(homes[0] / "engine")
    for change in (False, True):
        if change:
            life_goes_on(watched.shop)
            life_goes_on(second)
        ours = watched.shop.start("sync", "--json")
        theirs = second.start("sync", "--json")
        for process in (ours, theirs):
            out, err = process.communicate(timeout=240)
            assert process.returncode == 0, (out, err)
            assert OWN not in err
        watched.assert_equal(spark)
        Watched(second).assert_equal(spark)


@pytest.mark.long
def test_dev_ends_the_engine_that_it_has_started_and_no_other(watched: Watched) -> None:
    for before in (False, True):
        if before:
            watched.engine("start")
        process = watched.shop.start("dev", "--port", free_port())
        try:
            assert wait_for(lambda: log_of(watched, "dev.log") and watched.engine("status")[0] == 0, process)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=90)
        finally:
            if process.poll() is None:
                kill(process)
        assert process.returncode == 0, err
        assert (watched.engine("status")[0] == 0) is before


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def log_of(watched: Watched, name: str) -> bool:
    """Whether there is one."""
    return (watched.shop.folder / "dagster" / name).is_file()


def test_what_keeps_an_engine_from_starting_is_one_sentence(watched: Watched) -> None:
    shop = watched.shop
    for change, words in (
        ({"JAVA_HOME": "/nowhere"}, "JAVA_HOME is /nowhere, which holds no bin/java"),
        ({"INCREMENTAL_ASSETS_JARS": "/nowhere"}, "is missing: run `incremental-assets setup`"),
        (
            {"JAVA_TOOL_OPTIONS": "-Xmx1z"},
            "the engine ended while it started (Invalid maximum heap size: -Xmx1z); its log is /",
        ),
    ):
        done = shop.run("engine", "start", "--json", **change)
        assert done.returncode == 1
        message = json.loads(done.stdout)["error"]["message"]
        assert words in message
        assert "\n" not in message
    assert watched.engine("status") == (1, {"running": False})
    folder = str(shop.folder)
    assert not [each for each in psutil.process_iter() if readable(each) and folder in " ".join(each.cmdline())]
