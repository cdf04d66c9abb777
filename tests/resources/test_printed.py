"""Secrets that a program prints: asked for when they are needed, kept for a short while, and never shown."""

from __future__ import annotations

import json
import stat
import sys
import time
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Reference
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.resources import printed
from incremental_assets.resources.database import address
from incremental_assets.resources.runtime import Runtime
from tests.core.mistakes import in_source


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "_known", {})


def python(program: str) -> str:
    """As YAML has it."""
    return f"password: {{command: [{sys.executable}, -c, {json.dumps(program)}]}}"


def written(folder: Path, password: str) -> Path:
    file = folder / "sources.yaml"
    file.write_text(in_source(f"{password} #!"), encoding="utf-8")
    return file


def sentence(folder: Path, password: str) -> str:
    file = written(folder, password)
    with pytest.raises(ConfigurationError) as found:
        address(load(file).source("shop"), file)
    return str(found.value)


def test_a_program_prints_the_password_and_the_newline_at_its_end_is_none_of_it(tmp_path: Path) -> None:
    file = written(tmp_path, python('print(" s3 cret ")'))
    assert address(load(file).source("shop"), file).password == " s3 cret "


def test_a_program_beside_the_configuration_is_found_from_any_folder_and_no_shell_reads_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    program = tmp_path / "my token"
    program.write_text('#!/bin/sh\nprintf %s "$1"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    file = written(tmp_path, "password: {command: ['./my token', '$HOME; `id`']}")
    assert address(load(file).source("shop"), file).password == "$HOME; `id`"


def test_it_is_not_asked_again_before_the_value_may_be_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    program = f'open("{calls}", "a").write("x"); print(len(open("{calls}").read()))'
    file = written(tmp_path, python(program))
    source = load(file).source("shop")
    assert [address(source, file).password for _ in range(3)] == ["1", "1", "1"]
    later = time.monotonic() + 301
    monkeypatch.setattr(printed.time, "monotonic", lambda: later)
    assert address(source, file).password == "2"


def test_one_that_failed_is_left_alone_for_a_moment_and_is_asked_again_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    file = written(tmp_path, python(f'open("{calls}", "a").write("x"); raise SystemExit(3)'))
    source = load(file).source("shop")
    for _ in range(3):
        with pytest.raises(ConfigurationError, match="ended with status 3"):
            address(source, file)
    assert calls.read_text() == "x"

    later = time.monotonic() + 11
    monkeypatch.setattr(printed.time, "monotonic", lambda: later)
    with pytest.raises(ConfigurationError):
        address(source, file)
    assert calls.read_text() == "xx"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ('import sys; print("s3cret"); sys.exit(3)', "ended with status 3; run it by hand to see why"),
        ("pass", "the program printed nothing; let it print the value"),
        ("import sys; sys.stdout.buffer.write(bytes([112, 228]))", "what the program printed is not UTF-8 text"),
        ('print("a" + chr(0) + "b")', "what the program printed contains a NUL"),
        ('print("x" * 70000)', "the program printed more than 65,536 bytes"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_place_and_without_what_was_printed(
    tmp_path: Path, program: str, why: str
) -> None:
    said = sentence(tmp_path, python(program))
    marked = (tmp_path / "sources.yaml").read_text().splitlines().index(f"    {python(program)} #!") + 1
    assert f"sources.yaml:{marked}: " in said
    assert why in said
    assert "s3cret" not in said
    assert program not in said


def test_a_program_that_is_not_there_or_may_not_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    assert "there is no program 'no-such-program'" in sentence(
        tmp_path, "password: {command: [no-such-program, s3cret]}"
    )
    said = sentence(tmp_path, "password: {command: [./plain, s3cret]}")
    assert "'plain' cannot be run (Permission denied)" in said
    assert "s3cret" not in said


def test_a_program_that_hangs_is_ended_with_all_that_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed, "_PATIENCE_SECONDS", 1.0)
    alive = tmp_path / "alive"
    program = f'import subprocess, time; subprocess.Popen(["sh", "-c", "while :; do touch {alive}; sleep 0.1; done"]); time.sleep(600)'
    assert "has not ended within 1 seconds; run it by hand" in sentence(tmp_path, python(program))
    alive.unlink()
    time.sleep(0.5)
    assert not alive.exists()


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ("password: {command: []}", "write at least"),
        ("password: {command: aws rds}", "write a list here: [first, second]"),
        ("password: {comand: [aws]}", "did you mean `command`?"),
        ("port: {command: [echo, 5432]}", "command"),
    ],
)
def test_a_mistake_is_found_with_the_configuration(tmp_path: Path, line: str, cure: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        load(written(tmp_path, line))
    assert cure in str(found.value)


def test_its_arguments_show_in_no_text(tmp_path: Path) -> None:
    file = written(tmp_path, "password: {command: [aws, --token, s3cret]}")
    reference = load(file).source("shop").settings.secrets[0]
    assert reference == Reference("command", "aws", ("--token", "s3cret"))
    assert str(reference) == "{command: [aws, …]}"


def test_a_source_is_opened_anew_once_its_password_is_another_one(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("first\n")
    runtime = Runtime(load(written(tmp_path, "password: {file: secret}")))
    first = runtime.probe("shop")
    assert runtime.ports("shop").probe is first
    secret.write_text("rotated\n")
    second = runtime.probe("shop")
    assert second is not first
    assert runtime.ports("shop").probe is second
    secret.unlink()
    assert runtime.probe("shop") is second, "a file that is written anew is not there for a moment"
    assert "rotated" not in f"{vars(runtime)!r}"
    runtime.close()
