"""The demo as a stranger runs it, and the commands of the README on what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.tpch import READER, TABLES
from tests.waiting import until

pytestmark = pytest.mark.timeout(900)

SHIPPED = Path(__file__).parents[2] / "incremental_assets" / "sources.yaml"


@dataclass(frozen=True)
class Done:
    """One call: its end, its answer, and what it started."""

    code: int
    out: str
    err: str
    seconds: float
    children: frozenset[str]

    @property
    def document(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


@dataclass(frozen=True)
class Checkout:
    """The shipped configuration in a folder of its own: `.demo` and `.lake` lie beside the package's folder, as in a clone."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "incremental_assets" / "sources.yaml"

    @property
    def server(self) -> EmbeddedPostgres:
        return EmbeddedPostgres(self.folder / ".demo")

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "DAGSTER_HOME": str(self.folder / ".dagster"),
            "INCREMENTAL_ASSETS_CONFIG": str(self.config),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [str(Path(sys.executable).with_name("incremental-assets")), *arguments]
        return subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=self.folder,
        )

    def run(self, *arguments: str) -> Done:
        """To its end, watching what it starts."""
        begun = time.monotonic()
        children: set[str] = set()
        with self.start(*arguments) as process:
            try:
                while True:
                    try:
                        out, err = process.communicate(timeout=0.1)
                        break
                    except subprocess.TimeoutExpired:
                        children |= _names_of_children(process.pid)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return Done(process.returncode, out, err, time.monotonic() - begun, frozenset(children))


def _names_of_children(pid: int) -> set[str]:
    try:
        return _names(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return set()


def _names(processes: Iterable[psutil.Process]) -> set[str]:
    """Of those that have not ended meanwhile."""
    names = set()
    for each in processes:
        with suppress(psutil.Error):
            names.add(each.name())
    return names


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    folder = tmp_path_factory.mktemp("clone")
    checkout = Checkout(folder)
    checkout.config.parent.mkdir()
    shutil.copy(SHIPPED, checkout.config)
    yield checkout
    checkout.server.remove()


@pytest.fixture(scope="module")
def demo(checkout: Checkout) -> Done:
    return checkout.run("demo", "--scale", "0.01", "--json")


def test_every_table_is_proven_equal_by_both_sides(demo: Done) -> None:
    assert demo.code == 0, demo.err
    assert demo.document["equal"] is True
    proofs = {entry["table"].partition(".")[2]: entry["proof"] for entry in demo.document["tables"]}
    assert set(proofs) == set(TABLES)
    for proof in proofs.values():
        assert proof["equal"]
        assert (proof["source_rows"], proof["source_hash"]) == (proof["lake_rows"], proof["lake_hash"])
        assert proof["source_rows"] > 0


def test_the_second_sync_reads_only_what_changed_and_tells_what_was_late(demo: Done) -> None:
    tables = {entry["table"].partition(".")[2]: entry for entry in demo.document["tables"]}

    assert {name for name, entry in tables.items() if entry["status"] == "idle"} == {"nation", "region"}
    for name in ("orders", "lineitem"):
        rows = tables[name]["rows"]
        assert 0 < rows["late"] <= rows["inserted"] + rows["updated"]
        assert rows["read"] < tables[name]["first_sync"]["rows"]["read"] / 10
    assert all(entry["first_sync"]["status"] == "landed" for entry in tables.values())
    assert {entry["guarantee"] for entry in tables.values()} == {"settled"}


def test_what_was_deleted_in_the_source_has_left_the_lake(demo: Done) -> None:
    deleted = {entry["table"]: entry["rows"]["deleted"] for entry in demo.document["tables"]}

    assert {table for table, rows in deleted.items() if rows} == {"public.orders", "public.lineitem"}


def test_one_row_breaks_its_contract_is_held_and_lands_when_it_is_mended(checkout: Checkout, demo: Done) -> None:
    quarantined = {entry["table"]: entry["rows"]["quarantined"] for entry in demo.document["tables"]}
    held = {entry["table"]: entry["held"] for entry in demo.document["tables"]}

    assert {table: rows for table, rows in held.items() if rows} == {"public.part": 1}
    assert {table: rows for table, rows in quarantined.items() if rows} == {"public.part": 1}
    assert demo.document["held"] == 0
    kept = QueryBuilder().register("kept", DeltaTable(checkout.folder / ".lake" / "_quarantine/tpch/public/part"))
    rows = pa.table(kept.execute("SELECT _sync_reason AS why, _sync_resolution AS how, p_size < '0' AS bad FROM kept"))
    assert rows.to_pylist() == [{"why": "p_size: ge 1", "how": "superseded", "bad": True}]


def test_the_history_of_customers_is_proven_too(demo: Done) -> None:
    tables = {entry["table"].partition(".")[2]: entry for entry in demo.document["tables"]}
    faulty = {name: entry["proof"]["faulty_keys_of_history"] for name, entry in tables.items()}

    assert {name: keys for name, keys in faulty.items() if keys is not None} == {"customer": 0}
    changed = tables["customer"]["rows"]["updated"]
    history = tables["customer"]["history"]
    assert (history["added"], history["ended"]) == (changed, changed)
    assert history["rows"] == tables["customer"]["first_sync"]["rows"]["read"] + changed


def test_a_stamp_from_the_future_holds_no_watermark(demo: Done) -> None:
    watermarks = [entry["new_watermark"] for entry in demo.document["tables"] if entry["new_watermark"]]

    assert len(watermarks) == 6
    assert max(watermarks) < "2900"


@pytest.mark.usefixtures("demo")
def test_nothing_moved_is_found_without_a_jvm_or_dagster(checkout: Checkout) -> None:
    done = checkout.run("sync", "--json")

    assert done.code == 0, done.err
    assert {entry["status"] for entry in done.document["tables"]} == {"idle"}
    assert not {name for name in done.children if "java" in name or "spark" in name}
    # Three on a machine of one's own; a busy one is asked again.
    until(lambda: done.seconds < 10 or checkout.run("sync", "--json").seconds < 10)


@pytest.mark.usefixtures("demo")
def test_nothing_moved_imports_neither_spark_nor_dagster(checkout: Checkout) -> None:
    program = (
        "import sys\nfrom incremental_assets.cli.main import commands\nfrom incremental_assets.cli.entrypoint import run\n"
        "code = run(commands, ['sync'])\nprint(code, [name for name in ('pyspark', 'dagster') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=checkout.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert done.stdout.splitlines() == [done.stdout.splitlines()[0], "0 []"]
    assert done.stdout.startswith("nothing changed in 6 tables; 2 tables not looked at before ")


@pytest.mark.acceptance
@pytest.mark.usefixtures("demo")
def test_status_and_check_agree_that_all_is_well(checkout: Checkout) -> None:
    status, check = checkout.run("status", "--json"), checkout.run("check", "--json")

    assert (status.code, check.code) == (0, 0), (status.err, check.err)
    assert {entry["last_status"] for entry in status.document["tables"]} <= {"landed", "idle"}
    assert all(entry["passed"] for entry in check.document["checks"])
    assert len({entry["table"] for entry in check.document["checks"]}) == 8


@pytest.mark.usefixtures("demo")
def test_doctor_finds_nothing_to_fix(checkout: Checkout) -> None:
    done, sql = checkout.run("doctor", "--json"), checkout.run("doctor", "--sql", "--json")

    assert done.code == 0, done.out
    assert {finding["health"] for finding in done.document["findings"]} == {"ok"}
    assert sql.document == {"sql": {"tpch": ""}}


@pytest.mark.acceptance
@pytest.mark.usefixtures("demo")
def test_a_backfill_lands_nothing_new_and_is_not_repeated(checkout: Checkout) -> None:
    words = ("backfill", "--select", "public.supplier", "--from", "2025-01-01", "--windows-per-run", "60", "--json")
    first, second = checkout.run(*words), checkout.run(*words)

    assert (first.code, second.code) == (0, 0), (first.err, second.err)
    assert sum(entry["rows"]["inserted"] + entry["rows"]["updated"] for entry in first.document["tables"]) == 0
    assert sum(entry["rows"]["unchanged"] for entry in first.document["tables"]) == 100  # not the one from the future
    assert [(entry["status"], entry["rows"]["read"]) for entry in second.document["tables"]] == [("idle", 0)]


@pytest.mark.usefixtures("demo")
def test_a_reset_is_refused_until_it_is_meant(checkout: Checkout) -> None:
    done = checkout.run("reset", "--select", "public.nation", "--json")

    assert done.code == 3
    assert "tpch.public.nation" in done.err


@pytest.mark.usefixtures("demo")
def test_a_wrong_password_is_one_sentence(checkout: Checkout) -> None:
    secret = checkout.folder / ".demo" / "reader.password"
    right = secret.read_text()
    secret.write_text("not-the-password\n")
    try:
        done = checkout.run("sync", "--json")
    finally:
        secret.write_text(right)

    errors = {entry["error"] for entry in done.document["tables"]}
    assert done.code == 1
    assert len(errors) == 1
    assert "password" in str(errors).lower()
    assert "not-the-password" not in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.usefixtures("demo")
def test_an_unreachable_port_is_one_sentence(checkout: Checkout) -> None:
    file = checkout.folder / ".demo" / "port"
    right = file.read_text()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listening
        file.write_text(f"{nobody.getsockname()[1]}\n")
        try:
            done = checkout.run("sync", "--json", "--select", "public.orders")
        finally:
            file.write_text(right)

    (entry,) = done.document["tables"]
    assert done.code == 1
    assert str(nobody) not in entry["error"]
    assert "127.0.0.1" in entry["error"]
    assert "\n" not in entry["error"]


def test_the_password_is_nowhere(checkout: Checkout, demo: Done) -> None:
    secret = checkout.server.password_of(READER)
    process = checkout.start("sync", "--json")
    seen = ""
    while process.poll() is None:
        seen += " ".join(argument for each in psutil.process_iter() for argument in _command_line(each))
        time.sleep(0.05)
    out, err = process.communicate()

    assert secret not in demo.out + demo.err + out + err + seen
    files = [path for place in (".dagster", ".lake") for path in (checkout.folder / place).rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if secret.encode() in path.read_bytes()] == []


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.usefixtures("demo")
def test_the_demo_refuses_a_lake_that_holds_anything_else(checkout: Checkout) -> None:
    foreign = checkout.folder / ".lake" / "mine"
    foreign.mkdir()
    try:
        done = checkout.run("demo", "--scale", "0.01", "--json")
    finally:
        foreign.rmdir()

    assert done.code == 3
    assert "mine" in done.err
    assert (checkout.folder / ".lake" / "tpch" / "public" / "orders").is_dir()


@pytest.mark.acceptance
@pytest.mark.usefixtures("demo")
def test_dev_says_where_and_ends_whole(checkout: Checkout) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        busy = checkout.run("dev", "--port", str(port))
    process = checkout.start("dev", "--port", str(port), "--json")
    group: set[psutil.Process] = set()
    names: set[str] = set()
    try:
        _wait_for(f"http://127.0.0.1:{port}/server_info", process)
        group = set(psutil.Process(process.pid).children(recursive=True))
        names = _names(group)
        second = checkout.run("dev", "--port", str(port + 1))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            # They have groups of their own.
            for each in group:
                with suppress(psutil.NoSuchProcess):
                    each.kill()

    assert (busy.code, "--port" in busy.err) == (1, True)
    assert (second.code, f"already, at http://127.0.0.1:{port}" in second.err) == (1, True)
    assert process.returncode == 0, err
    assert json.loads(out)["url"] == f"http://127.0.0.1:{port}"
    assert "Traceback" not in err
    assert f"to stop one: http://127.0.0.1:{port}/automation" in err
    assert len(group) >= 3
    assert "java" in names, "the engine"
    assert _names(psutil.wait_procs(group, timeout=60)[1]) == set()
    assert not checkout.server.is_running()
    checkout.server.start()


def _wait_for(url: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"{url} never answered")


@pytest.mark.long
@pytest.mark.usefixtures("demo")
def test_another_day_on_what_is_there_is_equal_too(checkout: Checkout) -> None:
    another = checkout.run("demo", "--keep", "--scale", "0.01", "--json")
    other_scale = checkout.run("demo", "--keep", "--scale", "0.02", "--json")

    assert another.code == 0, another.err
    assert another.document["equal"] is True
    assert {entry["first_sync"]["mode"] for entry in another.document["tables"]} == {"sync"}
    assert other_scale.code == 2
    assert "0.01" in other_scale.err
