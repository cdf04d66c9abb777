"""`erase`: asked first; each mistake is one sentence with its exit status, which quotes no key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIG, Call


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    file = tmp_path / "keys.jsonl"
    file.write_text('{"id": 900001, "email": "ann.planted@example.com"}\n', encoding="utf-8")
    return file


@pytest.fixture
def with_key(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERASURE_KEY", "a key of erasures that nobody can try all values of")
    config.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{CONFIG}", encoding="utf-8")


def asked(call: Call, keys: Path, *more: str, table: str = "public.orders") -> tuple[int, str]:
    said = call("erase", "--table", table, "--key-file", str(keys), *more)
    assert "900001" not in said.err
    assert "ann.planted" not in said.err
    return said.code, said.err


def test_without_a_secret_key_it_says_which_to_write(call: Call, keys: Path) -> None:
    code, said = asked(call, keys, "--yes")
    assert code == 2
    assert "write `erasure_key: {env: ERASURE_KEY}`" in said


@pytest.mark.usefixtures("with_key")
def test_without_consent_it_says_where_they_are_and_changes_nothing(call: Call, keys: Path, config: Path) -> None:
    log = config.parent / "lake" / "shop" / "public" / "orders" / "_delta_log" / "00000000000000000000.json"
    log.parent.mkdir(parents=True)
    add = {"path": "x", "stats": json.dumps({"minValues": {"id": 900001}, "maxValues": {"id": 900002}})}
    log.write_text(json.dumps({"add": add}) + "\n")
    code, said = asked(call, keys)
    assert code == 3
    assert "1 key would be erased, and kept out from then on" in said
    assert "log of the copy" in said
    assert f"{log.name}: statistics" in said
    assert "nothing was changed; add --yes to confirm" in said
    assert not (config.parent / "lake" / "_erased").exists()


@pytest.mark.usefixtures("with_key")
@pytest.mark.parametrize(
    ("text", "says"),
    [("", "no key is in it"), ('{"email": "ann.planted@example.com"}', ":1: the column 'id' of the key is missing")],
)
def test_a_mistake_in_the_file_of_keys_is_named(call: Call, keys: Path, text: str, says: str) -> None:
    keys.write_text(text, encoding="utf-8")
    code, said = asked(call, keys, "--yes")
    assert code == 2
    assert says in said


@pytest.mark.usefixtures("with_key")
def test_a_file_that_is_not_there_and_several_tables_are_refused(call: Call, keys: Path) -> None:
    code, said = asked(call, keys.with_name("none"), "--yes")
    assert (code, "cannot be read (No such file or directory); name a file of keys" in said) == (2, True)
    code, said = asked(call, keys, "--yes", table="public.*")
    assert (code, "this is not one table; erase from one table at a time" in said) == (2, True)


@pytest.mark.usefixtures("with_key")
def test_a_certificate_that_cannot_be_written_is_told_before_anything_is_erased(
    call: Call, keys: Path, config: Path
) -> None:
    code, said = asked(call, keys, "--yes", "--certificate", str(keys.parent / "none" / "certificate.json"))
    assert (code, "certificate.json: it cannot be written (No such file or directory); name another file" in said) == (
        2,
        True,
    )
    assert not (config.parent / "lake" / "_erased").exists()
    assert call("audit", "--json").document["audit"] == []


@pytest.mark.usefixtures("with_key")
@pytest.mark.parametrize("reason", ["request of ann.planted@example.com", "key 900001 asked"])
def test_a_reason_that_names_the_person_is_refused_as_it_would_be_kept(
    call: Call, keys: Path, config: Path, reason: str
) -> None:
    code, said = asked(call, keys, "--yes", "--reason", reason)
    assert (code, "--reason names what is to be erased, and would be kept" in said) == (2, True)
    assert call("audit", "--json").document["audit"] == []
