"""Java is named when it is missing or too old, in one sentence with the cure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from incremental_assets.adapters.spark import java
from incremental_assets.core.errors import SetupError


def make_java(home: Path, *, release: str | None = None, answer: str = "exit 1") -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"#!/bin/sh\n{answer}\n")
    (home / "bin" / "java").chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    return home


@pytest.mark.parametrize(("release", "version"), [("17.0.15", 17), ("21", 21), ("25.0.1+8", 25)])
def test_the_release_file_is_enough_and_no_jvm_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, version: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path, release=release)))
    assert java.require_java() == java.Java(tmp_path, version)


def test_a_java_without_release_file_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_java(tmp_path, answer="""echo 'openjdk version "17.0.9" 2023-10-17' >&2""")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.require_java().version == 17


@pytest.mark.parametrize(("release", "version"), [("11.0.2", 11), ("1.8.0_392", 8)])
def test_a_java_that_is_too_old_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, version: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path, release=release)))
    with pytest.raises(SetupError, match=rf"is version {version} and Spark needs 17: install"):
        java.require_java()


def test_a_java_that_does_not_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path)))
    with pytest.raises(SetupError, match="does not start: install"):
        java.require_java()


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=f"JAVA_HOME is {tmp_path}, which holds no bin/java: install"):
        java.require_java()


def test_no_java_at_all_is_named_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"Java is missing: install .*JAVA_HOME"):
        java.require_java()


def test_set_up_runs_the_check_before_anything_is_installed(tmp_path: Path) -> None:
    """-I and -S: only the standard library can be imported, as in a fresh clone."""
    command = [sys.executable, "-I", "-S", java.__file__]
    result = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("set-up: Java is missing: install")
