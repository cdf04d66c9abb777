"""The command, as somebody calls it: a certificate, an exit status, and a lake, a database and a home of Dagster in which nothing is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.remains import remains
from tests.shop import PASSWORD, Shop

MAIL = "ann.planted@example.com"
TABLE = "\n- {table: public.people, cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2}\n"


@pytest.mark.acceptance
def test_a_person_is_erased_by_the_command_and_the_certificate_says_so(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    folder, given = tmp_path / "shop", {"ERASURE_KEY": "a key of erasures that nobody can try all values of"}
    folder.mkdir()
    shop = Shop.open(postgres, database, folder, TABLE, options="unlisted: ignore")
    shop.config.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{shop.config.read_text()}")
    shop.execute(
        "CREATE TABLE people (id int PRIMARY KEY, mail text, at timestamptz NOT NULL DEFAULT now() - interval '1 hour')",
        f"INSERT INTO people VALUES (1, 'one@example.com'), (900001, '{MAIL}'), (900009, 'nine@example.com')",
    )
    assert shop.run("sync", **given).returncode == 0
    paused = shop.run("pause", "shop.public.people", "--reason", f"until {MAIL} has answered", **given)
    assert paused.returncode == 0, paused.stderr
    keys, certificate = tmp_path / "keys.jsonl", tmp_path / "certificate.json"
    # As editors of Windows save it.
    keys.write_text(json.dumps({"id": 900001, "mail": MAIL}), encoding="utf-8-sig")
    assert remains(folder, MAIL) != {}

    asked = ("erase", "--table", "public.people", "--key-file", str(keys))
    refused = shop.run(*asked, **given)
    assert refused.returncode == 3
    assert "files of the copy" in refused.stderr
    done = shop.run(*asked, "--yes", "--reason", "request 812", "--certificate", str(certificate), **given)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(certificate.read_text())
    assert (found["result"], found["reason"], found["left"]) == ("erased", "request 812", [])
    assert any(each["before"] and not each["after"] for each in found["examined"])
    assert MAIL not in certificate.read_text()
    assert remains(folder, MAIL) == {}
    assert "erase" in shop.run("audit", **given).stdout

    assert shop.run("resume", "shop.public.people", **given).returncode == 0
    assert shop.run("sync", "--full-refresh", **given).returncode == 0
    assert remains(folder, MAIL) == {}
