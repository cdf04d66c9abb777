"""What set-up misses it names in one sentence with the cure, before it installs anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import until

ROOT = Path(__file__).parents[1]
NEEDED = (
    "requirements.lock",
    "pyproject.toml",
    ".ci/set-up.sh",
    "incremental_assets/adapters/spark/java.py",
    "incremental_assets/adapters/spark/jars.lock",
)
TOOLS = ("bash", "cat", "cut", "dirname", "sha256sum", "awk", "df")


class Checkout:
    """A fresh clone on a machine that has just the tools that a test gives it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.tools = folder / "checkout", folder / "tools"
        self.tools.mkdir()
        for name in NEEDED:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        for tool in TOOLS:
            (self.tools / tool).symlink_to(shutil.which(tool) or tool)

    def give(self, tool: str, script: str) -> None:
        (self.tools / tool).unlink(missing_ok=True)
        (self.tools / tool).write_text(f"#!{shutil.which('bash')}\n{script}\n")
        (self.tools / tool).chmod(0o755)

    def set_up(self, **variables: str) -> str:
        """What it says when it refuses."""
        result = subprocess.run(
            [self.root / ".ci" / "set-up.sh"],
            env={"PATH": str(self.tools), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 1, result
        assert not (self.root / ".venv").exists()
        return result.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path)
    checkout.give("python3.11", f'exec "{sys.executable}" "$@"')
    checkout.give("java", """echo 'openjdk version "17.0.9"' >&2""")
    return checkout


def test_a_missing_python_is_named(checkout: Checkout) -> None:
    (checkout.tools / "python3.11").unlink()
    checkout.give("python3", "exit 1")
    assert checkout.set_up().startswith("set-up: Python 3.11 or later is missing; install it")


def test_a_missing_java_is_named(checkout: Checkout) -> None:
    (checkout.tools / "java").unlink()
    assert checkout.set_up().startswith("set-up: Java is missing: install a Java runtime")


@pytest.mark.parametrize("variable", ["PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX"])
def test_packages_of_the_machine_s_have_no_say(checkout: Checkout, variable: str) -> None:
    checkout.give("python3.11", f'[[ -z ${{{variable}-}} && $PIP_USER == 0 ]] || exit 1; exec "{sys.executable}" "$@"')
    (checkout.tools / "java").unlink()
    assert "Java is missing" in checkout.set_up(PIP_USER="1", **{variable: "/somewhere"})


def test_an_old_java_is_named(checkout: Checkout) -> None:
    checkout.give("java", """echo 'openjdk version "11.0.2"' >&2""")
    assert "is version 11 and Spark needs 17" in checkout.set_up()


def test_a_full_disk_is_named(checkout: Checkout) -> None:
    checkout.give("df", "echo header; echo /dev/x 100 50 1048576 1% /")
    assert checkout.set_up().startswith("set-up: only 1 GiB are free in ")


def test_a_python_without_venv_is_named(checkout: Checkout) -> None:
    checkout.give("python3.11", f'[[ "$*" == "-m venv"* ]] && exit 1; exec "{sys.executable}" "$@"')
    checkout.give("df", f"echo header; echo /dev/x 100 50 {50 << 20} 1% /")
    assert "install its venv module (Debian: apt-get install python3-venv)" in checkout.set_up()


@pytest.mark.parametrize(
    ("trusted", "said", "fetched_by"),
    [
        ("", "", ["uv"]),
        ("--system-certs", "", ["uv", "uv --system-certs"]),
        ("none", "set-up: uv cannot fetch the packages, so pip does", ["uv", "uv --system-certs", "pip"]),
    ],
)
def test_a_registry_that_uv_does_not_trust_by_itself_is_asked_again_by_the_machine_s_authorities_and_by_pip(
    checkout: Checkout, trusted: str, said: str, fetched_by: list[str]
) -> None:
    done = _installed(
        checkout,
        uv=f'echo "uv ${{*:11}}" >>asked; [[ "$*" == *"{trusted}" ]] || {{ echo "error: a long story" >&2; exit 1; }}',
        python='case "$*" in *stdin) cat >/dev/null ;; *"-r requirements.lock") echo pip >>asked ;; esac',
    )
    assert (checkout.root / "asked").read_text().replace("uv \n", "uv\n").splitlines() == fetched_by
    assert said in done.stderr
    assert "error:" not in done.stderr


def test_pyspark_is_built_on_the_disk_of_the_environment_and_by_pip_which_keeps_it_once(checkout: Checkout) -> None:
    _installed(
        checkout,
        uv="exit 0",
        python='[[ "$*" == *stdin ]] && { echo "in ${TMPDIR-}"; [[ "$*" != *--use-pep517* ]] || echo "==as a wheel"; cat; } >>asked; [[ -z ${TMPDIR-} ]] || echo left >"$TMPDIR/left"',
    )
    lines = (checkout.root / "asked").read_text().splitlines()
    asked = [line.strip("=").split("==")[0] for line in lines if line.startswith("in ") or "==" in line]
    building = checkout.root / ".venv" / "building"
    assert asked == ["in ", "setuptools", "uv", f"in {building}", "as a wheel", "pyspark"]
    assert not building.exists()


def _installed(checkout: Checkout, *, uv: str, python: str) -> subprocess.CompletedProcess[str]:
    """A set-up with an environment whose programs are these."""
    for tool in ("mkdir", "rm", "ln", "chmod"):
        (checkout.tools / tool).symlink_to(shutil.which(tool) or tool)
    (checkout.root / ".venv" / "bin").mkdir(parents=True)
    checkout.give("df", f"echo header; echo /dev/x 100 50 {50 << 20} 1% /")
    for program, script in (("uv", uv), ("python", python)):
        checkout.give(program, script)
        shutil.move(checkout.tools / program, checkout.root / ".venv" / "bin" / program)
    return subprocess.run(
        [checkout.root / ".ci" / "set-up.sh"],
        env={"PATH": str(checkout.tools), "HOME": str(checkout.root)},
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_second_set_up_does_nothing() -> None:
    """This very checkout is set up, else no test would run."""

    def seconds() -> float:
        begun = time.monotonic()
        result = subprocess.run([ROOT / ".ci" / "set-up.sh"], capture_output=True, text=True, check=True, timeout=60)
        assert (result.stdout, result.stderr) == ("", "")
        return time.monotonic() - begun

    # A busy machine is asked again.
    until(lambda: seconds() < 5)


def test_clean_stops_an_engine_below_a_path_with_a_space(tmp_path: Path) -> None:
    project = tmp_path / "a checkout"
    command = project / ".venv" / "bin" / "incremental-assets"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\necho "asked: $*"\n')
    command.chmod(0o755)
    (project / ".dagster" / "engine").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", project)
    done = subprocess.run(
        ["make", "-C", str(project), "clean", f"DAGSTER_HOME={project}/.dagster"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "asked: engine stop" in done.stdout
    assert done.stderr == ""
    assert not (project / ".dagster").exists()
