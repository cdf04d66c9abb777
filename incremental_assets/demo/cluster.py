"""One PostgreSQL cluster as files and processes: created, started, and diagnosed if it does not start."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil

from incremental_assets.core.errors import SetupError
from incremental_assets.demo.home import Home, choose_home
from incremental_assets.demo.state import SUPERUSER, ServerState


def create(folder: Path) -> ServerState:
    """An empty cluster with a random password for its superuser."""
    # To be entered by the server's account, and not to be listed.
    folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
    home = choose_home(folder)
    # A data folder without its state file (killed before it was written, or deleted since): its password is unknown.
    if home.data.exists():
        home.run("pg_ctl", "-D", home.data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(home.data)
    home.data.mkdir(mode=0o700)
    home.give(home.data)
    state = ServerState.fresh("." if home.folder == folder else str(home.folder))
    with tempfile.NamedTemporaryFile("w", dir=home.folder, prefix=".initdb-") as password:  # mode 0600
        password.write(state.passwords[SUPERUSER])
        password.flush()
        home.give(Path(password.name))
        made = home.run(
            "initdb", "-D", home.data, "-U", SUPERUSER, f"--pwfile={password.name}", "--auth=scram-sha-256",
            "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions",
        )  # fmt: skip
    if made.returncode != 0:
        raise SetupError(f"The demo's PostgreSQL could not be created in {home.data}: {made.stderr.strip()}.")
    given = home.read(home.data / "postgresql.conf") or ""
    home.write(home.data / "postgresql.conf", f"{given}include 'embedded.conf'\n")
    return state


def launch(home: Home, settings: Mapping[str, str]) -> bool:
    """False when it did not come up; its log says why."""
    lines = (f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in settings.items())
    home.write(home.data / "embedded.conf", "\n".join(lines) + "\n")
    home.log.unlink(missing_ok=True)
    return home.run("pg_ctl", "-D", home.data, "-l", home.log, "-w", "-t", "60", "start").returncode == 0


def forget_dead_server(home: Home) -> None:
    """Remove postmaster.pid unless its process is the server of this folder: after a crash of the machine the pid may be another's, which PostgreSQL takes for a server."""
    pid_file = home.data / "postmaster.pid"
    try:
        pid = int((home.read(pid_file) or "").split("\n", 1)[0])
    except ValueError:
        return
    try:
        ours = psutil.Process(pid).cwd() == str(home.data)  # a postmaster always stands in its data folder
    except psutil.Error:
        ours = False
    if not ours:
        pid_file.unlink(missing_ok=True)


def port_was_busy(home: Home) -> bool:
    return "could not bind" in (home.read(home.log) or "")


def last_words(home: Home) -> str:
    """Why it gave up: the fatal message and the one before it, which often holds the reason."""
    lines = (home.read(home.log) or "").splitlines()
    fatal = next((number for number, line in enumerate(lines) if "FATAL:" in line), None)
    if fatal is None:
        return "it left no message"
    return "; ".join(line.partition(":  ")[2] for line in lines[max(fatal - 1, 0) : fatal + 1])
