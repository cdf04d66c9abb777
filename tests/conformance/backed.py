"""A server of a test's own, which is put back to an older backup, promoted, upgraded, or a standby."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psycopg

from incremental_assets.demo.home import Home
from incremental_assets.demo.postgres import EmbeddedPostgres


class Backed:
    """A server of the test's own, whose data folder can be copied and put back, as a physical backup is."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server.start()
        with psycopg.connect(self.server.dsn()) as connection:
            row = connection.execute("SHOW data_directory").fetchone()
        assert row is not None
        self._data, self._backup = Path(row[0]), Path(f"{row[0]}.backup")

    def back_up(self) -> None:
        self.server.stop()
        subprocess.run(["cp", "-a", str(self._data), str(self._backup)], check=True)
        self.server.start()

    def restore(self) -> None:
        self.server.stop()
        subprocess.run(["rm", "-rf", str(self._data)], check=True)
        subprocess.run(["cp", "-a", str(self._backup), str(self._data)], check=True)
        self.server.start()

    def fail_over(self) -> None:
        """The same files come up as a standby, as a replica's would, and are promoted."""
        self.server.stop()
        self._promote()

    def fail_over_to_a_lagging_replica(self) -> None:
        """The backup's files come up as a standby that has received nothing since, and are promoted."""
        self.server.stop()
        subprocess.run(["rm", "-rf", str(self._data)], check=True)
        subprocess.run(["cp", "-a", str(self._backup), str(self._data)], check=True)
        self._promote()

    def upgrade(self) -> None:
        """`pg_upgrade` moves everything into a new cluster, which has a number of its own."""
        home = Home(self._data.parent)
        old = self._data.with_name("postgres.old")
        self.server.stop()
        self._data.rename(old)
        self._data.mkdir(mode=0o700)
        home.give(self._data)
        home.give(home.folder)  # where it writes its log
        made = home.run(
            "initdb", "-D", self._data, "-U", self.server.user, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        hba = (old / "pg_hba.conf").read_text()
        (old / "pg_hba.conf").write_text("local all all trust\n")
        moved = home.run(
            "pg_upgrade", "-b", home.programs, "-B", home.programs, "-d", old, "-D", self._data, "-U", self.server.user,
            "--socketdir", home.folder, "--no-sync", timeout=240,
        )  # fmt: skip
        assert moved.returncode == 0, moved.stdout
        (self._data / "pg_hba.conf").write_text(hba)
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("include 'embedded.conf'\n")
        subprocess.run(["rm", "-rf", str(old)], check=True)
        self.server.start()

    def stand_by(self) -> None:
        """The same files come up as a standby that waits for more."""
        self.server.stop()
        self._signal()
        self.server.start()

    def _promote(self) -> None:
        self._signal()
        self.server.start()
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")
            connection.execute("CHECKPOINT")

    def _signal(self) -> None:
        shutil.copy(self._data / "PG_VERSION", self._data / "standby.signal")
        subprocess.run(["chown", f"--reference={self._data}", str(self._data / "standby.signal")], check=True)
