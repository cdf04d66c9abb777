"""T30: another user of the machine tries every port and every file of ours, and gets nothing; a group gets the tables where the lake's folder lets it in."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.spark import connect_server as server
from incremental_assets.core.errors import SetupError
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.attacker import STRANGER, Messages, as_stranger, attack, ports, readable
from tests.conformance.scenario import scenario
from tests.shop import MAKE_THREE, THREE_STRATEGIES, Shop, kill

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user"),
]

ROOT = Path(__file__).parents[2]
OWN = """
import sys, time
from incremental_assets.adapters.spark.session import open_session
session = open_session()
session.range(1000).repartition(4).count()
print("open", flush=True)
sys.stdin.read()
print(session.range(1000).repartition(4).count())
"""
UNGUARDED = """
import sys
from dataclasses import replace
from pathlib import Path
from incremental_assets.adapters.spark import connect_server as server
guarded = server.this_machine
def unguarded(settings):
    machine = guarded(settings)
    return replace(machine, conf={**machine.conf, "spark.authenticate": "false"})
server.this_machine = unguarded
print(server.start(Path(sys.argv[1]))[0].process.pid)
"""


@pytest.fixture(scope="module")
def messages() -> Messages:
    return Messages.of_a_jvm()


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may enter, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "everybody's").touch(mode=0o644)
        yield Path(folder)


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def no_engine_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is attacked here is begun here, and ends here: under `--engine`, too, whose engine lies in a folder that nobody else may enter."""
    monkeypatch.delenv("TEST_ENGINE", raising=False)


def leaks(*folders: Path) -> list[str]:
    """What a stranger reads there, but for the file by which one sees that the question is a good one."""
    found = readable(*folders)
    assert any("everybody's" in path for path in found)
    return [path for path in found if "everybody's" not in path and path not in map(str, folders)]


@contextmanager
def session_of_ones_own(scratch: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with a JVM, which has shuffled."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWN],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "open\n"
        yield process
    finally:
        kill(process)


@scenario(
    "T30",
    "Another user of the machine sends noise, half a frame and Spark's own messages to every port of a run's session, and tries to read its files",
    holds="no port does as it is asked, no file can be read, and the session works on",
)
def test_a_session_of_one_s_own_does_nothing_for_a_stranger(public: Path, messages: Messages) -> None:
    with session_of_ones_own(public) as process:
        found = ports(process.pid)
        assert found
        assert attack(found, messages) == {}
        assert {"blockmgr", "spark"} <= {path.name.split("-")[0] for path in public.glob("incremental-assets-*/*")}
        assert leaks(public) == []
        assert process.communicate(timeout=120)[0] == "1000\n"


@scenario(
    "T30",
    "The same with the engine",
    holds="no port does as it is asked, no file can be read, and the engine runs jobs",
)
def test_an_engine_does_nothing_for_a_stranger_and_works_on(public: Path, messages: Messages) -> None:
    engine, _ = server.start(public / "engine")
    try:
        found = ports(engine.process.pid)
        assert engine.port in found
        assert attack(found, messages) == {}
        seen = server.look(public / "engine")
        assert seen is not None
        assert seen.unusable == ""
        scratch = public / "engine" / "scratch"
        assert {"blockmgr", "spark", "artifacts"} <= {path.name.split("-")[0] for path in scratch.iterdir()}
        assert leaks(public) == []
    finally:
        server.stop(public / "engine")


@scenario(
    "T30",
    "The executor of an engine has ended, and its process has not",
    holds="`engine status` and `doctor` say so; a run goes on in a session of its own",
)
def test_an_engine_whose_executor_is_dead_is_done_without(
    postgres: EmbeddedPostgres, database: str, public: Path, messages: Messages
) -> None:
    """As it was, when a stranger could end it."""
    shop = Shop.open(postgres, database, public, THREE_STRATEGIES)
    shop.execute(*MAKE_THREE)
    folder = Path(shop.environment["DAGSTER_HOME"]) / "engine" / socket.gethostname()
    made = subprocess.run(
        [sys.executable, "-c", UNGUARDED, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    try:
        assert "ends its executor" in str(attack(ports(int(made.stdout)), messages))
        status = shop.run("engine", "status", "--json")
        assert "its executor has ended" in status.stdout
        assert status.returncode == 1
        assert "its executor has ended" in shop.run("doctor", "--json").stdout
        done = shop.run("sync", "--json")
        assert done.returncode == 0, done.stderr
        assert "this run opens its own session" in done.stderr
    finally:
        server.stop(folder)


@scenario(
    "T30",
    "Another user of the machine tries the demo's database and its folder",
    holds="it asks for a password, and no file can be read",
)
def test_the_demo_s_database_asks_for_a_password_and_its_folder_is_closed(public: Path) -> None:
    database = EmbeddedPostgres(public / ".demo", settings={"fsync": "off", "shared_buffers": "16MB"}).start()
    try:

        def connect() -> str:
            try:
                psycopg.connect(
                    host="127.0.0.1", port=database.port, user=database.user, dbname="postgres", password=""
                )
            except psycopg.OperationalError as error:
                return str(error)
            return "in"

        assert "no password supplied" in as_stranger(connect)
        assert leaks(public) == []
    finally:
        database.remove()


@pytest.fixture
def shop(postgres: EmbeddedPostgres, database: str, public: Path) -> Shop:
    shop = Shop.open(postgres, database, public, THREE_STRATEGIES)
    shop.execute(*MAKE_THREE)
    shop.config.chmod(0o600)
    return shop


@scenario(
    "T30",
    "Another user of the machine tries to read a lake, its checkpoints and Dagster's folder, under the usual umask",
    holds="nothing can be read or listed",
)
def test_a_lake_and_all_beside_it_are_closed_to_strangers(shop: Shop) -> None:
    home = shop.folder / "made by us"
    done = shop.run("sync", "--json", DAGSTER_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert (shop.folder / "lake").is_dir()
    assert (shop.folder / "checkpoints.db").is_file()
    # The folder that this test's stand makes holds nothing.
    assert leaks(shop.folder) == [str(shop.folder / "dagster")]


@scenario(
    "T30",
    "The lake's folder lets a group in",
    holds="the group reads the tables, and neither locks, batches nor checkpoints",
)
def test_a_group_reads_the_tables_of_a_lake_whose_folder_lets_it_in(shop: Shop) -> None:
    lake = shop.folder / "lake"
    (made,) = re.findall(r"^install .*$", (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8"), re.MULTILINE)
    subprocess.run(made.replace("analysts", str(STRANGER)).replace("/srv/lake", str(lake)).split(), check=True)
    shop.sync()
    found = readable(lake)
    for table in ("orders", "events", "prices"):
        assert any(f"/{table}/_delta_log/" in path for path in found)
        assert any(f"/{table}/" in path and path.endswith(".parquet") for path in found)
    assert [path for path in found if "/_locks/" in path or "/_staging/" in path] == []
    assert readable(*shop.folder.glob("checkpoints.db*")) == []


@scenario(
    "T30",
    "The account that the demo's database runs as puts a link to a file of root's in the place of one that root has written",
    holds="root's file keeps its content, its owner and its mode",
)
def test_a_link_of_the_server_s_account_leads_root_nowhere(public: Path) -> None:
    folder, victim = public / ".demo", public / "victim"
    settings = {"fsync": "off", "shared_buffers": "16MB"}
    database = EmbeddedPostgres(folder, settings=settings).start()
    try:
        victim.write_text("root's own\n")
        victim.chmod(0o600)
        database.stop()
        (folder / "postgres" / "embedded.conf").unlink()
        (folder / "postgres" / "embedded.conf").symlink_to(victim)
        with pytest.raises(SetupError, match=r"embedded\.conf"):
            EmbeddedPostgres(folder, settings=settings).start()
        assert victim.read_text() == "root's own\n"
        assert (victim.stat().st_uid, stat.S_IMODE(victim.stat().st_mode)) == (0, 0o600)
    finally:
        database.remove()


@scenario(
    "T30",
    "`PGHOSTADDR` and `PGTARGETSESSIONATTRS`, which one driver knows and the other does not, name another server",
    holds="both drivers ask the server of the configuration, and every table lands",
)
def test_variables_of_one_driver_lead_nowhere_else(shop: Shop) -> None:
    done = shop.run("sync", "--json", PGHOSTADDR="127.0.0.2", PGTARGETSESSIONATTRS="standby")
    assert done.returncode == 0, done.stderr
    assert {table["status"] for table in json.loads(done.stdout)["tables"]} == {"landed"}
