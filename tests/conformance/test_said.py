"""T34: no command says of a table what nobody looked at, and no verdict reaches further than what was compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.scenario import scenario
from tests.shop import Shop

ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, total double precision, at timestamptz NOT NULL DEFAULT now())",
    "CREATE INDEX ON orders (at)",
    "CREATE TABLE countries (code text PRIMARY KEY, name text)",
)
LISTED = "- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, partitions: {every: month, from: 2024-01-01}}"


def _opened(postgres: EmbeddedPostgres, database: str, folder: Path) -> Shop:
    shop = Shop.open(postgres, database, folder, LISTED)
    shop.execute(*ORDERS, "INSERT INTO countries VALUES ('ch', 'Switzerland')")
    return shop


def _checks(shop: Shop, *options: str) -> dict[tuple[str, str], dict[str, Any]]:
    document = json.loads(shop.run("check", "--json", *options).stdout)
    return {(each["table"], each["check"]): each for each in document["checks"]}


def _standing(shop: Shop) -> dict[str, dict[str, Any]]:
    return {each["table"]: each for each in json.loads(shop.run("status", "--json").stdout)["tables"]}


@scenario(
    "T34",
    "`check` is asked of tables of which nothing has landed, with and without `--strict`; a table that is read once a day changes after it was read",
    holds="no check passes and each says that nothing was checked, under `--strict` with exit 1; until it is due nothing is said to be unchanged, no lag is 0, and `sync --now` lands it",
)
def test_what_nobody_looked_at(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    shop = _opened(postgres, database, tmp_path)
    before = _checks(shop)
    assert before
    assert not [key for key, each in before.items() if each["passed"] or each["checked"]]
    assert (shop.run("check").returncode, shop.run("check", "--strict").returncode) == (0, 1)

    shop.sync()
    shop.execute("INSERT INTO countries VALUES ('at', 'Austria')")
    left = shop.sync()["public.countries"]
    assert (left["status"], left["next_look"] is None) == ("idle", False)
    assert _standing(shop)["public.countries"]["lag_seconds"] is None
    now = json.loads(shop.run("sync", "--now", "--json").stdout)["tables"]
    assert {each["table"]: each["rows"]["read"] for each in now}["public.countries"] == 2


@scenario(
    "T34",
    "A row that no copy can hold (NaN in a decimal) and one that drifts; a month without either is backfilled and checked, the copy is rolled back, and the backfill asked for again",
    holds="every `check` and `status` counts the row in quarantine until it lands; the drift of the other month stays in the verdict; after the rollback the backfill reads again what it had read",
)
def test_what_a_verdict_and_a_backfill_reach(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    shop = _opened(postgres, database, tmp_path)
    shop.execute(
        "ALTER TABLE orders ALTER total TYPE numeric(10, 2)",
        "INSERT INTO orders SELECT n, n, timestamptz '2024-01-15Z' + n * interval '1 day' FROM generate_series(1, 60) n",
        "INSERT INTO orders VALUES (100, 'NaN', '2024-01-20Z')",
    )
    first = shop.sync()["public.orders"]
    assert (first["rows"]["inserted"], first["rows"]["quarantined"]) == (60, 1)
    shop.sync()
    for _ in range(2):
        verdict = _checks(shop)["public.orders", "reconciliation"]
        assert (verdict["passed"], verdict["quarantined"]) == (True, 1)
        assert _standing(shop)["public.orders"]["unfit"]["rows"] == 1

    run = json.loads(shop.run("rollback", "--select", "public.orders", "--json").stdout)["runs"][-1]["run_id"]
    words = ("backfill", "--select", "public.orders", "--from", "2024-02-01", "--to", "2024-03-01", "--json")
    shop.execute("UPDATE orders SET total = 7.5 WHERE id = 20")
    read = [json.loads(shop.run(*words).stdout)["tables"][0] for _ in range(2)]
    assert [each["status"] for each in read] == ["landed", "idle"]
    assert shop.run("rollback", "--select", "public.orders", "--to-run", run, "--yes").returncode == 0
    assert json.loads(shop.run(*words).stdout)["tables"][0]["status"] == "landed"

    shop.execute("UPDATE orders SET total = 1 WHERE id = 100", "UPDATE orders SET at = now() WHERE id = 100")
    shop.sync()
    assert _standing(shop)["public.orders"]["unfit"]["rows"] == 0
