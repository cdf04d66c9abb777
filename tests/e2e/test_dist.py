"""What `make dist` builds, installed where nothing of this checkout is in reach: by pip, from the registry, into an empty environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from incremental_assets.demo.shop import remove_all

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1_200)]

ROOT = Path(__file__).parents[2]
OF_CHECKOUT = ("DAGSTER_", "PYTHON", "INCREMENTAL_ASSETS", "VIRTUAL_ENV", "XDG_", "PIP_")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and an sdist of what is tracked here."""
    clone, out = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).exists():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name, follow_symlinks=False)
    build = ["uv", "build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", str(out), "."]
    subprocess.run([Path(sys.executable).parent / build[0], *build[1:]], cwd=clone, check=True)
    return out


class Installed:
    """An environment with the wheel, and an empty folder in which its commands run, with a home of its own."""

    def __init__(self, folder: Path, wheel: Path, extras: str) -> None:
        self.folder, self.work = folder / "environment", folder / "work"
        self.work.mkdir()
        subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(OF_CHECKOUT)} | {
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "COLUMNS": "200",
        }
        kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "XDG_CACHE"))}
        # PySpark comes as a source, whose build asks for setuptools: that one is fetched too.
        done = subprocess.run(
            [self.folder / "bin" / "pip", "install", "--quiet", f"{wheel}{extras}"],
            env=self.environment | kept,
            check=False,
        )
        assert done.returncode == 0

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs to the end."""
        program = self.folder / "bin" / command[0]
        return subprocess.run(
            [program, *command[1:]], cwd=self.work, env=self.environment, capture_output=True, text=True, check=False
        )

    def files(self) -> set[Path]:
        """What pip has put there, without what Python compiles."""
        found = self.folder.rglob("incremental_assets/**/*")
        return {path for path in found if path.is_file() and path.suffix != ".pyc"}


@pytest.fixture(scope="module")
def lean(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Without any extra."""
    return Installed(tmp_path_factory.mktemp("lean"), next(built.glob("*.whl")), "")


def test_the_wheel_holds_all_that_the_package_needs_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    asked = ["git", "ls-files", "incremental_assets", "resources", "docs/*.md"]
    tracked = subprocess.run(asked, cwd=ROOT, capture_output=True, check=True, text=True)
    # In the wheel a link is the folder that it leads to: beside our package it adds nothing that could be another's.
    expected = set(tracked.stdout.split()) - {"incremental_assets/resources", "incremental_assets/docs"}
    linked = ("resources/", "docs/")
    assert names == {f"incremental_assets/{name}" if name.startswith(linked) else name for name in expected}


def test_the_sdist_holds_the_package_and_no_tests(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        parts = {name.split("/")[1] for name in sdist.getnames() if "/" in name}
        inside = [member for member in sdist.getmembers() if "/incremental_assets/resources/" in member.name]
    assert {"pyproject.toml", "README.md", "LICENSE", "incremental_assets"} <= parts
    assert inside
    assert all(member.isreg() for member in inside)
    assert not parts & {"tests", "bench", "docs"}


def test_a_page_that_a_message_names_can_be_read_where_there_is_no_checkout(lean: Installed) -> None:
    assert lean.run("incremental-assets", "docs", "how-to/recover").stdout.startswith("# Recover\n")


def test_without_extras_the_environment_is_sound_and_each_missing_one_is_named(lean: Installed) -> None:
    assert lean.run("pip", "check").stdout.strip() == "No broken requirements found."
    assert "pixeltable" not in lean.run("pip", "list").stdout
    for command, extra in (
        (["demo"], "demo"),
        (["dev"], "ui"),
        (["init", "mariadb://reader@127.0.0.1:1/shop"], "mysql"),
    ):
        said = lean.run("incremental-assets", *command)
        assert said.returncode == 1, said
        assert said.stderr.strip().endswith(f"not installed; install it by `pip install 'incremental-assets[{extra}]'`")


def test_without_a_file_a_command_says_how_to_have_one(lean: Installed) -> None:
    said = lean.run("incremental-assets", "status")
    assert (said.returncode, said.stderr) == (
        2,
        "there is no sources.yaml in this folder; name yours with --config, or write one with `incremental-assets init URL`\n",
    )
    assert list(lean.work.iterdir()) == []


def test_the_demo_runs_from_a_wheel_and_leaves_installed_packages_as_they_are(
    built: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    there = Installed(tmp_path_factory.mktemp("demo"), next(built.glob("*.whl")), "[demo]")
    before = there.files()
    assert "jars are in" in there.run("incremental-assets", "setup").stdout
    said = there.run("incremental-assets", "demo", "--scale", "0.01")
    try:
        assert said.returncode == 0, said.stderr
        assert [path.name for path in there.work.iterdir()] == ["incremental-assets-demo"]
        assert there.files() == before
        config = ["--config", "incremental-assets-demo/configuration/sources.yaml"]
        assert there.run("incremental-assets", "check", *config).returncode == 0
    finally:
        remove_all(there.work / "incremental-assets-demo")
