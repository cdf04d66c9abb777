"""Secrets: looked up when a source is opened, missing ones named together, and never shown."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.core.config.database_settings import DatabaseSettings, Tls, database_of
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Reference, SourceConfig, TableConfig
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.table import Strategy
from incremental_assets.resources.database import address, open_probe
from tests.core.mistakes import in_source

FILE = Path("/etc/sources.yaml")
SOURCE = SourceConfig(
    name="shop",
    dialect="postgresql",
    settings=DatabaseSettings(
        "postgresql", "localhost", 5432, "shop", "reader", Reference("env", "SHOP_PASSWORD"), Tls.DISABLE
    ),
    schemas=("public",),
    line=7,
)


def reached(**changes: Any) -> SourceConfig:
    return replace(SOURCE, settings=replace(database_of(SOURCE), **changes))


def sentence(source: SourceConfig) -> str:
    with pytest.raises(ConfigurationError) as found:
        address(source, FILE)
    return str(found.value)


def test_an_environment_variable_is_read_when_the_source_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    assert address(SOURCE, FILE).password == "s3cret"
    monkeypatch.setenv("SHOP_PASSWORD", "rotated")
    assert address(SOURCE, FILE).password == "rotated"


def test_a_secret_shows_in_no_text_of_what_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    probe = open_probe(SOURCE, FILE)
    assert "s3cret" not in f"{address(SOURCE, FILE)!r} {SOURCE!r} {probe!r} {vars(probe)!r}"


def test_a_missing_variable_is_one_sentence_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    assert sentence(SOURCE) == (
        "/etc/sources.yaml:7: '{env: SHOP_PASSWORD}': the environment variable SHOP_PASSWORD is not set; "
        "export it where this program runs"
    )


def test_a_reference_that_leads_nowhere_has_the_line_on_which_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    file = tmp_path / "sources.yaml"
    file.write_text(in_source("password: {env: SHOP_PASSWORD} #!"))
    marked = file.read_text().splitlines().index("    password: {env: SHOP_PASSWORD} #!") + 1
    assert sentence(load(file).source("shop")).startswith(f"/etc/sources.yaml:{marked}: ")


def test_a_file_is_read_without_the_newline_at_its_end_and_with_every_other_space(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(" s3 cret \r\n")
    assert address(reached(password=Reference("file", str(file))), FILE).password == " s3 cret "


def test_what_is_wrong_with_a_file_is_said_in_one_sentence(tmp_path: Path) -> None:
    def of(file: Path) -> str:
        return sentence(reached(password=Reference("file", str(file))))

    (tmp_path / "empty").write_text("\n")
    (tmp_path / "latin").write_bytes("pässword".encode("latin-1"))
    assert of(tmp_path / "none").endswith("there is no such file; create it, or name another")
    assert of(tmp_path / "empty").endswith("the file is empty; write the value into it")
    assert of(tmp_path / "latin").endswith("the file is not UTF-8 text; save it as UTF-8")
    assert of(tmp_path).endswith("the file cannot be read (Is a directory); check its permissions")


def test_all_that_is_missing_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    text = sentence(reached(host=Reference("env", "SHOP_HOST"), port=Reference("file", str(tmp_path / "port"))))
    assert [line.split(": ")[1:3] for line in text.splitlines()] == [
        ["'{env", "SHOP_HOST}'"],
        ["'{file", f"{tmp_path / 'port'}}}'"],
        ["'{env", "SHOP_PASSWORD}'"],
    ]


def test_a_port_behind_a_reference_must_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    (tmp_path / "port").write_text("five\n")
    assert "the value is not a port" in sentence(reached(port=Reference("file", str(tmp_path / "port"))))
    (tmp_path / "port").write_text("5433\n")
    assert address(reached(port=Reference("file", str(tmp_path / "port"))), FILE).port == 5433


def test_a_host_behind_a_reference_is_reached_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    monkeypatch.setenv("SHOP_HOST", "db.example.org")
    for tls in Tls:
        assert address(reached(host=Reference("env", "SHOP_HOST"), tls=tls), FILE).tls == tls.value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("port", value) for value in ("hunter2SECRET", "hunter2/SECRET", "hunter2" * 20, "hunter2\u0664")),
        *(("host", value) for value in ("hunter2/SECRET", "hunter2" * 20)),
    ],
)
def test_what_a_reference_leads_to_is_never_shown(monkeypatch: pytest.MonkeyPatch, key: str, value: str) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", value)
    told = sentence(reached(**{key: Reference("env", "SHOP_PASSWORD")}))
    assert told.startswith("/etc/sources.yaml:7: '{env: SHOP_PASSWORD}': ")
    assert "hunter2" not in told


@pytest.mark.parametrize("value", ["hunter2\nSECRET", "hunter2" * 1_000])
@pytest.mark.parametrize("key", ["user", "database"])
def test_a_name_behind_a_reference_fits_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str, value: str
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    (tmp_path / "name").write_text(value)
    told = sentence(reached(**{key: Reference("file", str(tmp_path / "name"))}))
    assert told.endswith(f"the value is not a {key}: write one line of up to 4,096 letters")
    assert "hunter2" not in told


def test_a_value_that_no_driver_takes_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\0")
    monkeypatch.setenv("SHOP_HOST", "hunter2\udcff")
    in_file = sentence(reached(password=Reference("file", str(tmp_path / "password"))))
    assert in_file.endswith("the file contains a NUL, which no value can; remove it")
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    assert sentence(reached(host=Reference("env", "SHOP_HOST"))).endswith(
        "the environment variable SHOP_HOST is not UTF-8 text; export it as UTF-8"
    )


def test_a_reference_to_what_has_no_end_is_one_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_text("hunter2" * 10_000)

    def told(name: str) -> str:
        return sentence(reached(password=Reference("file", str(tmp_path / name))))

    assert told("pipe").endswith("this is no file, but a pipe or a device; name a file")
    assert told("/dev/zero").endswith("this is no file, but a pipe or a device; name a file")
    assert told("long").endswith("the file has more than 65,536 bytes; write the value alone into it")
    assert "(Is a directory)" in told(".")


def test_the_schemas_of_listed_tables_are_looked_through_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    listed = TableConfig("archive", "orders", Strategy.APPEND)
    assert address(replace(SOURCE, tables=(listed,)), FILE).schemas == ("public", "archive")


def test_a_key_of_tokens_that_could_be_found_by_trying_is_refused_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    monkeypatch.setenv("MASK_KEY", "short")
    said = sentence(reached(mask_key=Reference("env", "MASK_KEY")))

    assert "/etc/sources.yaml:7: " in said
    assert "the key has fewer than 32 characters" in said
    assert "short;" not in said
    monkeypatch.setenv("MASK_KEY", "x" * 32)
    assert address(reached(mask_key=Reference("env", "MASK_KEY")), FILE).password == "s3cret"
