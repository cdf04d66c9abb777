"""Sessions of one engine, on the real thing: apart from each other, equal to a session of one's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from incremental_assets.adapters.spark import connect_server as server
from incremental_assets.adapters.spark.server_record import Announced, read
from tests.adapters.source import Source

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of an engine of this file's own."""
    folder = tmp_path_factory.mktemp("engine")
    server.start(folder)
    yield folder
    server.stop(folder)


def engine_of(folder: Path) -> Announced:
    engine = read(folder)
    assert engine is not None
    return engine


def python(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own: in this one Spark runs already, and pyspark knows one kind of session at a time."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.long
@pytest.mark.parametrize("room", ["lake", "loading", "reader", "staging", "compaction"])
def test_what_holds_in_a_session_of_ones_own_holds_on_the_engine(folder: Path, room: str) -> None:
    """The very tests of the engine's rooms, told to take a session of the engine."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/adapters/test_{room}.py"],
        cwd=ROOT,
        env=os.environ | {"TEST_ENGINE": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]


ISOLATED = """
import sys
from pathlib import Path
from incremental_assets.adapters.spark.server_record import read
from incremental_assets.adapters.spark.connect_client import open_remote

folder, lake = Path(sys.argv[1]), sys.argv[2]
engine = read(folder)
first, second = (open_remote(engine, lambda: True) for _ in range(2))
TXN = {"spark.databricks.delta.write.txnAppId": "somebody", "spark.databricks.delta.write.txnVersion": "7"}
for name, value in TXN.items():
    first.conf.set(name, value)
first.range(1).write.format("delta").save(lake)
# Under the first one's settings this would be a replay of sequence 7, and dropped without a word.
second.range(1, 3).write.format("delta").mode("append").save(lake)
first.range(10, 13).write.format("delta").mode("append").save(lake)
assert [second.conf.get(name, None) for name in TXN] == [None, None]
print(sorted(row.id for row in second.read.format("delta").load(lake).collect()))
"""


def test_settings_of_one_session_never_reach_another(folder: Path, tmp_path: Path) -> None:
    done = python(ISOLATED, folder, tmp_path / "lake")
    assert done.stdout.strip() == "[0, 1, 2]", done.stderr


NAMED = """
import json, sys
from pathlib import Path
from incremental_assets.adapters.spark.server_record import read
from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.connect import jdbc_properties, jdbc_url, session_init
from incremental_assets.adapters.databases.postgresql.pinned import Limits
from incremental_assets.adapters.spark.connect_client import open_remote

session, address = open_remote(read(Path(sys.argv[1])), lambda: True), Address(**json.loads(sys.argv[2]))
query = "(SELECT current_setting('application_name') || ' ' || count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS q"
properties = jdbc_properties(address) | {"sessionInitStatement": session_init(None, Limits())}
print(session.read.jdbc(jdbc_url(address), query, properties=properties).first()[0])
"""


def test_a_reader_of_the_engines_is_known_as_one_of_ours(folder: Path, source: Source) -> None:
    """Else it would be taken for the oldest transaction, which is what it is."""
    here = source.address()
    fields = {name: getattr(here, name) for name in ("dialect", "host", "port", "database", "user", "password")}
    done = python(NAMED, folder, json.dumps(fields))
    assert done.stdout.strip() == "incremental-assets 1", done.stderr


MEANING = """
import sys
from pathlib import Path
from incremental_assets.adapters.spark.server_record import read
from incremental_assets.adapters.spark.connect_client import open_remote
from incremental_assets.adapters.spark.session import _delta, _meaning

session = open_remote(read(Path(sys.argv[1])), lambda: True)
wrong = {name: session.conf.get(name) for name, value in (_meaning() | _delta()).items() if session.conf.get(name) != value}
print(wrong, session.sql("SELECT current_timezone()").first()[0])
"""


def test_every_session_has_the_settings_that_decide_what_a_value_is(folder: Path) -> None:
    done = python(MEANING, folder)
    assert done.stdout.strip() == "{} UTC", done.stderr


TOKEN = """
import sys
from dataclasses import replace
from pathlib import Path
from incremental_assets.adapters.spark.server_record import read
from incremental_assets.adapters.spark.connect_client import open_remote

engine = read(Path(sys.argv[1]))
try:
    print(open_remote(replace(engine, token=sys.argv[2] or engine.token), lambda: True).version)
except Exception as error:
    print(error.getGrpcStatusCode().name)
"""


@pytest.mark.parametrize(("token", "answer"), [("", "4.2.0"), ("another", "UNAUTHENTICATED")])
def test_only_who_has_the_token_is_let_in(folder: Path, token: str, answer: str) -> None:
    done = python(TOKEN, folder, token)
    assert done.stdout.strip() == answer, done.stderr


def test_it_takes_its_classes_from_the_archive(folder: Path) -> None:
    mapped = Path(f"/proc/{engine_of(folder).process.pid}/maps").read_text(encoding="utf-8")
    from incremental_assets.adapters.spark.cds_archive import find_archive
    from incremental_assets.adapters.spark.java import require_java

    made = find_archive(require_java()).driver
    if made is None:
        pytest.skip("this checkout has no archive; .ci/set-up.sh makes one")
    assert str(made) in mapped


LEFT = """
import sys, time
from pathlib import Path
from incremental_assets.core.errors import EngineLost
from incremental_assets.adapters.spark import connect_server as server
from incremental_assets.adapters.spark.server_record import read
from incremental_assets.adapters.spark.session_provider import Session

folder, lake = Path(sys.argv[1]), sys.argv[2]
session = Session(engines=folder)
assert "connect" in type(session()).__module__
session().range(5).write.format("delta").save(lake)
server.stop(folder)
begun = time.monotonic()
try:
    session._session.range(5).count()
except EngineLost as lost:
    print("lost", time.monotonic() - begun < 5)
own = session()
from pyspark.sql import Observation, functions as sf
seen = Observation()
own.read.format("delta").load(lake).observe(seen, sf.count(sf.lit(1)).alias("rows")).write.format("delta").mode("append").save(lake)
print(type(own).__module__, seen.get["rows"], own.read.format("delta").load(lake).count())
session.close()
"""


def test_a_process_that_has_lost_its_engine_goes_on_with_a_jvm(tmp_path: Path) -> None:
    server.start(tmp_path)
    done = python(LEFT, tmp_path, tmp_path / "lake")
    assert done.stdout.splitlines() == ["lost True", "incremental_assets.adapters.spark.lazy_session 5 10"], done.stderr
    assert server.look(tmp_path) is None


MIXED = """
import os, signal, sys, time
from dataclasses import replace
from pathlib import Path
from incremental_assets.adapters.delta.live import latest_of_each_key
from incremental_assets.adapters.spark.server_record import is_announced, read
from incremental_assets.adapters.spark.session_provider import Session
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.syncing.retry_once import retry_once
from tests.fakes import World
from tests.scenario import ORDERS, orders, shop

folder, session = Path(sys.argv[1]), Session(engines=Path(sys.argv[1]))
spec, engine, tried = orders(Strategy.APPEND), read(folder), []
ROW = "SELECT 1 AS id, timestamp'2024-01-29 09:00:00' AS updated_at, 1 AS _sync_seq"

def killed():
    os.kill(engine.process.pid, signal.SIGKILL)
    while is_announced(folder, engine):
        time.sleep(0.01)

def work():
    rows = session().sql(ROW)
    tried.append(type(rows).__module__)
    if len(tried) == 1:
        killed()
        session()  # as another thread of this process does
    return latest_of_each_key(spec, rows).count()

ports = replace(World(shop()).ports(), lost_engine=lambda: session.lost)
print(retry_once(work, ORDERS, ports), *tried)
session.close()
"""


def test_who_still_builds_on_a_killed_engine_when_another_thread_has_left_it_does_its_work_again(
    tmp_path: Path,
) -> None:
    server.start(tmp_path)
    try:
        done = python(MIXED, tmp_path)
    finally:
        server.stop(tmp_path)
    assert done.stdout.split() == ["1", "pyspark.sql.connect.dataframe", "pyspark.sql.classic.dataframe"], done.stderr


FORKS = """
import subprocess, sys
from collections import Counter
from pathlib import Path
from incremental_assets.adapters.spark.server_record import read
from incremental_assets.adapters.spark.connect_client import open_remote

session = open_remote(read(Path(sys.argv[1])), lambda: True)
# As for `user=`, for which this had to be root: without either Python copies no process.
print(*Counter(subprocess.run(["true"], preexec_fn=lambda: None).returncode for _ in range(200)).items())
"""


def test_a_process_that_has_a_session_of_an_engines_may_fork(folder: Path) -> None:
    """As the demo's server is: one in ten died of SIGABRT, SIGSEGV or SIGBUS before they began."""
    done = python(FORKS, folder)
    assert done.stdout.strip() == "(0, 200)", (done.stdout, done.stderr[-2000:])


BEGUN = """
import subprocess, sys
from pathlib import Path
from incremental_assets.adapters.spark.server_record import read
from incremental_assets.adapters.spark.connect_client import open_remote

session = open_remote(read(Path(sys.argv[1])), lambda: True)
OWN = "from incremental_assets.adapters.spark.session import open_session; print(open_session().range(7).count())"
print(subprocess.run([sys.executable, "-c", OWN], stdout=subprocess.PIPE, text=True).stdout, session.range(5).count())
"""


def test_a_process_that_is_begun_beside_a_session_of_an_engines_may_open_its_own(folder: Path) -> None:
    """As a command does whose engine will not do."""
    done = python(BEGUN, folder)
    assert done.stdout.split() == ["7", "5"], done.stderr


def test_two_calls_at_once_start_one_engine(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from incremental_assets.adapters.spark import connect_server as server\n"
        "engine, started = server.start(Path(sys.argv[1])); print(engine.process.pid, started)"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", program, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        told = [process.communicate(timeout=120)[0].split() for process in both]
        assert sorted(started for _, started in told) == ["False", "True"]
        assert len({pid for pid, _ in told}) == 1
    finally:
        server.stop(tmp_path)
