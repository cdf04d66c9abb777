"""Tunnels by a real server of SSH: who is let through, what each obstacle is called, and what becomes of one that dies."""

from __future__ import annotations

import contextlib
import getpass
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments, jdbc_url
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.ssh_route import Route
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.table import Cursor, CursorType, TableSpec
from incremental_assets.core.strategies import Strategy
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.databases.contract import planned
from tests.shop import PASSWORD, Shop

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
pytestmark = pytest.mark.skipif(
    not (Path(SSHD).exists() and shutil.which("ssh-keygen")),
    reason="no sshd on this machine: apt-get install openssh-server",
)
PHRASE = "a phrase with 'quotes'"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Bastion:
    """An sshd of this test alone, which its own user may enter by one key."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def made(cls, folder: Path) -> Bastion:
        folder.mkdir()
        for name, phrase in (("host", ""), ("other_host", ""), ("key", PHRASE), ("stranger", "")):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-f", folder / name], check=True)
        shutil.copy(folder / "key.pub", folder / "authorized_keys")
        found = cls(folder, free_port())
        found.know("host")
        return found

    def know(self, name: str) -> None:
        """Which key the server is known by."""
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {(self.folder / f'{name}.pub').read_text()}")

    def start(self, forwarding: str = "yes") -> None:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        (self.folder / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/authorized_keys\n"
            f"StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\nAllowTcpForwarding {forwarding}\n"
        )
        self.process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", self.folder / "config"], stderr=subprocess.DEVNULL, start_new_session=True
        )
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("sshd does not answer")

    def kill(self) -> None:
        """It, and the processes of those that it has let in, which have sessions of their own."""
        if self.process is None:
            return
        below = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        for pid in [str(self.process.pid), *below]:
            with_children = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", pid], capture_output=True, text=True, check=False
            ).stdout.split()
            for each in [*with_children, pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(each), signal.SIGKILL)
        self.process.wait()
        self.process = None

    def route(self, **changes: object) -> Route:
        known, key = str(self.folder / "known_hosts"), (self.folder / "key").read_text()
        found = Route("127.0.0.1", self.port, getpass.getuser(), key, PHRASE, known, within=5)
        return replace(found, **changes)  # type: ignore[arg-type]


@pytest.fixture
def bastion(tmp_path: Path) -> Iterator[Bastion]:
    found = Bastion.made(tmp_path / "ssh")
    found.start()
    yield found
    found.kill()


@pytest.fixture
def address(
    bastion: Bastion, postgres: EmbeddedPostgres, database: str, connect: Callable[[], psycopg.Connection]
) -> Address:
    """The database behind it, which has a table of three rows."""
    admin = connect()
    admin.execute("CREATE TABLE orders (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())")
    admin.execute("INSERT INTO orders SELECT generate_series(1, 3)")
    admin.commit()
    return Address(
        "postgresql", "localhost", postgres.port, database, postgres.user, postgres.password, ssh=bastion.route()
    )


def names(address: Address) -> list[str]:
    probe = SqlProbe(address, "shop")
    try:
        return [shape.id.name for shape in probe.catalogue()]
    finally:
        probe.close()


def refused(address: Address) -> str:
    with pytest.raises(SourceUnreachable) as caught:
        names(address)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_database_is_asked_through_a_port_of_this_machine(address: Address) -> None:
    assert names(address) == ["orders"]
    asked = driver_arguments(replace(address, tls="verify-full"))
    assert (asked["host"], asked["hostaddr"]) == ("localhost", "127.0.0.1")
    assert asked["port"] != address.port
    assert f"127.0.0.1:{asked['port']}/" in jdbc_url(address)
    assert address.ssh is not None
    assert PHRASE not in repr(address)
    assert "OPENSSH" not in repr(address)


def test_another_process_of_this_machine_reads_rows_by_the_port_and_never_sees_the_key(
    address: Address, tmp_path: Path
) -> None:
    probe = SqlProbe(address, "shop")
    (shape,) = probe.catalogue()
    spec = TableSpec(shape, Strategy.UPSERT, Cursor("at", CursorType.TIMESTAMP), key=("id",), key_enforced=True)
    with SparkSource(probe, address, lambda: None).snapshot(planned(probe, spec)) as taken:  # type: ignore[arg-type, return-value]
        assert taken.parts is not None
        packed = pickle.dumps(taken.parts)
        (tmp_path / "parts").write_bytes(packed)
        script = "import pickle, sys; print(sum(t.num_rows for p in pickle.load(open(sys.argv[1], 'rb')) for t in p.batches()))"
        read = subprocess.run(
            [sys.executable, "-c", script, tmp_path / "parts"], capture_output=True, text=True, check=True
        )
    probe.close()

    assert read.stdout.strip() == "3"
    assert b"OPENSSH" not in packed
    assert PHRASE.encode() not in packed


def test_a_server_whose_key_is_not_known_is_not_trusted(address: Address, bastion: Bastion) -> None:
    bastion.know("other_host")
    told = refused(address)
    assert (
        "so that it may be another server; compare it with whoever runs that server, and add it: ssh-keyscan -p" in told
    )

    (bastion.folder / "known_hosts").unlink()
    assert "there is no file" in refused(replace(address, ssh=bastion.route(within=6)))


@pytest.mark.parametrize("line", [b"hello\n", b"@trusted * ssh-ed25519 AAAA\n", b"\xff\xfe\n"])
def test_a_file_of_known_servers_that_cannot_be_read_is_named(address: Address, bastion: Bastion, line: bytes) -> None:
    known = bastion.folder / "known_hosts"
    known.write_bytes(line + known.read_bytes())
    told = refused(address)
    assert f"the keys of known servers in {known} cannot be read" in told
    assert "correct that file, or name another by `known_hosts`" in told


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"passphrase": "wrong"}, "cannot be read"),
        ({"passphrase": ""}, "cannot be read"),
        ({"key": "no key"}, "cannot be read"),
        ({"port": 1}, "it does not answer"),
        ({"user": "nobody-here"}, "does not take the key"),
    ],
)
def test_what_keeps_one_from_the_server_is_one_sentence(
    address: Address, bastion: Bastion, changes: dict[str, object], says: str
) -> None:
    if "port" in changes:
        (bastion.folder / "known_hosts").write_text(f"* {(bastion.folder / 'host.pub').read_text()}")
    told = refused(replace(address, ssh=bastion.route(**changes)))
    assert says in told
    assert PHRASE not in told


def test_a_key_that_the_server_does_not_take_is_told_with_its_user(address: Address, bastion: Bastion) -> None:
    stranger = bastion.route(key=(bastion.folder / "stranger").read_text(), passphrase="")
    assert f"for the user {getpass.getuser()!r}" in refused(replace(address, ssh=stranger))


def test_a_database_that_the_server_does_not_reach_is_told_so(address: Address) -> None:
    told = refused(replace(address, port=1))
    assert "it does not reach localhost:1" in told
    assert "`host` and `port` of the source are those that this server sees" in told


def test_a_tunnel_that_dies_is_one_sentence_and_comes_back_at_the_same_port(address: Address, bastion: Bastion) -> None:
    assert names(address) == ["orders"]
    before = address.door
    bastion.kill()
    assert "it does not answer" in refused(address)
    bastion.start()
    assert names(address) == ["orders"]
    assert address.door == before


def test_mariadb_is_asked_through_one_too(bastion: Bastion, mariadb: EmbeddedMariaDB) -> None:
    address = Address(
        "mariadb",
        "localhost",
        mariadb.port,
        "mysql",
        mariadb.user,
        mariadb.password,
        schemas=("mysql",),
        ssh=bastion.route(),
    )
    assert "user" in names(address)
    bastion.kill()
    assert "it does not answer" in refused(address)


@pytest.mark.acceptance
def test_a_sync_goes_through_it_from_the_configuration_on(
    bastion: Bastion, postgres: EmbeddedPostgres, database: str, tmp_path: Path
) -> None:
    shop = Shop.open(
        postgres, database, tmp_path, "\n- public.orders:at:timestamp!upsert\n", options="unlisted: ignore"
    )
    shop.execute("CREATE TABLE orders (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())")
    key = f"{{file: {bastion.folder}/key}}, passphrase: {{env: KEY_PHRASE}}, known_hosts: {bastion.folder}/known_hosts"
    ssh = f"    ssh: {{host: 127.0.0.1, port: {bastion.port}, user: {getpass.getuser()}, key: {key}}}\n"
    text = shop.config.read_text()
    shop.config.write_text(text.replace("    dialect: postgresql\n", f"    dialect: postgresql\n{ssh}"))
    found = shop.run("plan", "--json", KEY_PHRASE=PHRASE)
    assert '"public.orders"' in found.stdout, (found.stdout, found.stderr)
    bastion.kill()
    told = shop.run("plan", KEY_PHRASE=PHRASE)
    assert "the SSH server" in told.stdout + told.stderr
    assert "it does not answer" in told.stdout + told.stderr
    assert PASSWORD not in told.stdout + told.stderr
