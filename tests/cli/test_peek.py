"""`peek` on a real SQLite file and a copy that Spark has not read: columns and rows of both sides, and nothing that is to be hidden."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from incremental_assets.cli.entrypoint import run
from incremental_assets.cli.main import commands
from incremental_assets.core.model.erased import ErasedKeys, ErasureKey
from tests.cli.conftest import Said

Call = Callable[..., Said]
CONFIG = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: sqlite
    database: shop.db
    unlisted: ignore
    tables:
      - {table: main.orders, cursor: {column: id, type: integer}, strategy: upsert, where: "tenant_id = 7", pii: [email]}
      - {table: main.gone, strategy: full_refresh}
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources.yaml").write_text(CONFIG)
    with closing(sqlite3.connect("shop.db")) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant_id INTEGER, email TEXT, note TEXT)")
        rows = [
            (number, 7 + number % 2, f"{number}@example.com", "x" * 50 if number == 2 else None)
            for number in range(1, 41)
        ]
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
        shop.commit()

    def one(*arguments: str) -> Said:
        monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG", raising=False)
        capsys.readouterr()
        return Said(run(commands, arguments), *capsys.readouterr())

    return one


def copied(folder: Path) -> None:
    rows = {
        "id": [2, 4],
        "Email": ["2@example.com", None],
        "mail": ["2@example.com", None],
        "note": [b"\x01", None],
        "_sync_seq": [1, 1],
    }
    write_deltalake(str(folder / "lake/shop/main/orders"), pa.table(rows))


def test_ten_rows_of_each_side_are_shown_by_columns_and_those_of_pii_are_hidden(call: Call, tmp_path: Path) -> None:
    copied(tmp_path)
    said = call("peek", "main.orders", "--json")

    (table,) = said.document["tables"]
    assert (said.code, table["errors"]) == (0, [])
    assert table["columns"][0] == {"name": "id", "source": "INTEGER", "copy": "bigint"}
    assert [each["name"] for each in table["columns"]] == [
        "id",
        "tenant_id",
        "email",
        "note",
        "Email",
        "mail",
        "_sync_seq",
    ]
    assert len(table["rows"]["source"]) == 10
    assert {row["tenant_id"] for row in table["rows"]["source"]} == {"7"}
    assert table["rows"]["source"][0] == {"id": "2", "tenant_id": "7", "email": "(hidden: pii)", "note": "x" * 50}
    assert table["rows"]["copy"] == [
        {"id": "2", "Email": "(hidden: pii)", "mail": "(hidden: pii)", "note": "x'01'"},
        {"id": "4", "Email": None, "mail": None, "note": None},
    ]
    assert "example.com" not in said.out
    assert "pyspark" not in sys.modules or not said.err


def test_people_see_the_beginning_of_a_long_value_and_that_there_is_no_copy(call: Call) -> None:
    said = call("peek", "shop.main.orders")

    assert said.code == 0
    assert "shop.main.orders: 10 rows of the source" in said.out
    assert f"{'x' * 40}…" in said.out
    assert "x" * 41 not in said.out
    assert "shop.main.orders: no row of the copy to show" in said.out


def test_a_table_that_cannot_be_shown_says_why_and_takes_no_other_with_it(call: Call) -> None:
    said = call("peek", "main.*")

    assert said.code == 1
    assert "main.gone" in said.out + said.err
    assert "10 rows of the source" in said.out


def test_a_name_that_no_table_has_is_told_as_the_argument_that_it_is(call: Call) -> None:
    assert call("peek", "main.nowhere").err.startswith("TABLE 'main.nowhere' matches no table; ")


def test_a_copy_that_cannot_be_read_without_spark_is_told_and_the_source_is_shown(call: Call, tmp_path: Path) -> None:
    copied(tmp_path)
    for file in (tmp_path / "lake/shop/main/orders").glob("*.parquet"):
        file.unlink()

    said = call("peek", "main.orders")

    assert said.code != 0
    assert "the copy cannot be shown without Spark" in said.out
    assert "10 rows of the source" in said.out


def test_the_source_is_not_asked_for_values_that_are_masked(call: Call, tmp_path: Path) -> None:
    config = tmp_path / "sources.yaml"
    config.write_text(config.read_text().replace("pii: [email]", "columns: {mask: {email: redact, note: last4}}"))
    copied(tmp_path)

    (table,) = call("peek", "main.orders", "--json").document["tables"]

    hidden = "(hidden: masked)"
    assert table["rows"]["source"][0] == {"id": "2", "tenant_id": "7", "email": hidden, "note": hidden}
    assert table["rows"]["copy"][0]["note"] == "x'01'", "what landed is shown"


def test_days_and_moments_that_python_does_not_have_are_shown_all_the_same(call: Call, tmp_path: Path) -> None:
    far = pa.array([10**7, -(10**6)], pa.int32()).cast(pa.date32())
    rows = {"id": [1, 2], "note": far, "_sync_seq": [1, 1]}
    write_deltalake(str(tmp_path / "lake/shop/main/orders"), pa.table(rows))

    (table,) = call("peek", "main.orders", "--json").document["tables"]

    assert [row["note"] for row in table["rows"]["copy"]] == ["29349-01-26", "-0768-02-04"]


SECRET = "a key of erasures that nobody can try all values of"


def keep_out(folder: Path, *keys: str, secret: str = SECRET) -> None:
    """As `erase` leaves it: the list of keys that are out of the copy, and stay out."""
    kept = ErasedKeys(ErasureKey(secret), frozenset(), ("id",)).with_keys([key] for key in keys)
    path = folder / "lake/_erased/shop/main/orders.json"
    path.parent.mkdir(parents=True)
    path.write_text(kept.to_json())


def test_a_row_of_the_source_whose_key_was_erased_is_not_shown_and_that_is_said(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(tmp_path)
    monkeypatch.setenv("ERASURE_KEY", SECRET)
    (tmp_path / "sources.yaml").write_text("erasure_key: {env: ERASURE_KEY}\n" + CONFIG)
    keep_out(tmp_path, "2", "8")
    said = call("peek", "main.orders", "--json")

    (table,) = said.document["tables"]
    assert [row["id"] for row in table["rows"]["source"]] == ["4", "6", "10", "12", "14", "16", "18", "20"]
    # Of a copy from which an erasure has not come to take it.
    assert [row["id"] for row in table["rows"]["copy"]] == ["4"]
    assert table["left_out"] == {"source": 2, "copy": 1}
    people = call("peek", "main.orders").out
    assert "shop.main.orders: 2 rows of the source are not shown, as their keys were erased" in people
    assert "shop.main.orders: 1 row of the copy is not shown, as its key was erased" in people


def test_a_key_that_is_hidden_is_known_all_the_same(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERASURE_KEY", SECRET)
    config = CONFIG.replace("pii: [email]", "pii: [email, tenant_id], primary_key: [email, tenant_id]")
    (tmp_path / "sources.yaml").write_text("erasure_key: {env: ERASURE_KEY}\n" + config)
    kept = ErasedKeys(ErasureKey(SECRET), frozenset(), ("tenant_id", "email")).with_keys([("7", "2@example.com")])
    path = tmp_path / "lake/_erased/shop/main/orders.json"
    path.parent.mkdir(parents=True)
    path.write_text(kept.to_json())
    (table,) = call("peek", "main.orders", "--json").document["tables"]
    assert table["left_out"] == {"source": 1, "copy": 0}
    assert "2" not in [row["id"] for row in table["rows"]["source"]]


@pytest.mark.parametrize("key", ["", "erasure_key: {env: ERASURE_KEY}\n"])
def test_where_nobody_can_tell_which_keys_were_erased_no_row_is_shown(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    copied(tmp_path)
    monkeypatch.setenv("ERASURE_KEY", SECRET[::-1])
    (tmp_path / "sources.yaml").write_text(key + CONFIG)
    keep_out(tmp_path, "2")
    said = call("peek", "main.orders", "--json")

    (table,) = said.document["tables"]
    assert (said.code, table["rows"]) == (1, {"source": None, "copy": None})
    assert "erased rows" in table["errors"][0]
