"""T31: whatever is not synced is said, and whatever failed is remembered."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.scenario import scenario
from tests.shop import Shop

ORDERS = '- "public.orders:at:timestamp!upsert"'
COLUMNS = "id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()"


def _document(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def _failures(shop: Shop) -> list[str]:
    """The sentence of each failure that the checkpoint table remembers of `orders`, in the order in which they were met."""
    path = shop.folder / "checkpoints.db"
    if not path.exists():
        return []
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as connection:
        query = "SELECT detail FROM checkpoints WHERE table_name = 'orders' AND event = 'failed' ORDER BY event_id"
        return [detail for (detail,) in connection.execute(query).fetchall()]


@scenario(
    "T31",
    "Under `unlisted: full_refresh` the reader has no grant on a table, and one of the configured schemas does not exist",
    holds="`sync`, `status` and `check` name the table and the schema, `sync` and `check` fail, and `doctor --sql` prints the grant; a table of "
    "`exclude` is named by nobody",
)
def test_what_is_not_synced_is_said(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    shop = Shop.open(postgres, database, tmp_path, "[]", options="schemas: [public, publc]")
    shop.execute("CREATE TABLE secrets (id int PRIMARY KEY)", "REVOKE SELECT ON secrets FROM reader")

    for command, code in (("sync", 1), ("status", 0), ("check", 1)):
        result = shop.run(command, "--json")
        told = _document(result)
        named = {entry["table"] for entry in told.get("tables", told.get("checks", []))}
        assert "public.secrets" in named, (command, result.stdout, result.stderr)
        assert any("'publc'" in problem["sentence"] for problem in told["problems"]), (command, told)
        assert result.returncode == code, (command, result.stderr)
    assert "secrets" in shop.run("doctor", "--sql").stdout

    shop.execute("CREATE TABLE countries (id int PRIMARY KEY)")
    shop.configure("[]", "schemas: [public]\nexclude: [secrets]")
    result = shop.run("sync", "--json")
    told = _document(result)
    assert (result.returncode, [entry["table"] for entry in told["tables"]]) == (0, ["public.countries"]), told
    assert "secrets" not in result.stdout


@scenario(
    "T31",
    "A sync meets a source that refuses the connection, a table whose SELECT was revoked, and one that is locked until the statement gives up",
    holds="each attempt fails by name and leaves its row, with the reason, in the checkpoint table",
)
def test_failures_before_the_read_leave_a_row(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    options = "unlisted: ignore\noptions: {statement_timeout: 2s}"
    shop = Shop.open(postgres, database, tmp_path, ORDERS, options=options)
    shop.execute(f"CREATE TABLE orders ({COLUMNS})", "INSERT INTO orders (id) VALUES (1)")
    right = shop.config.read_text()

    shop.config.write_text(right.replace(f"port: {postgres.port}", "port: 1"))
    refused = shop.run("sync", "--json")
    assert (refused.returncode, len(_failures(shop))) == (1, 1), refused.stderr
    shop.config.write_text(right)

    shop.execute("REVOKE SELECT ON orders FROM reader")
    revoked = shop.run("sync", "--json")
    assert (revoked.returncode, len(_failures(shop))) == (1, 2), revoked.stderr
    shop.execute("GRANT SELECT ON orders TO reader")

    with shop.connect() as holder:
        holder.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        locked = shop.run("sync", "--json")
    assert (locked.returncode, len(_failures(shop))) == (1, 3), locked.stderr

    for result, remembered in zip((refused, revoked, locked), _failures(shop), strict=True):
        (entry,) = _document(result)["tables"]
        assert (entry["status"], entry["error"]) == ("failed", remembered)
        assert remembered
