"""The shop that drops files: what its files say together is what its books have, at each step of a day."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from hashlib import md5
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.demo import plain_sql, shop_in_sqlite
from incremental_assets.demo.dropping import Rows, prepared
from incremental_assets.demo.shop import Counting, Shop, shop_of
from incremental_assets.demo.shop_in_sqlite import Connection

ORDERS = 2_000


def _few_rows(self: shop_in_sqlite.Shop, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
    with Connection(self._file) as connection:
        connection.run("BEGIN")
        for statement in plain_sql.tables(shop_in_sqlite._STAMP):
            connection.run(statement)
        connection.run("INSERT INTO region VALUES (0, 'AFRICA', 'lär')")
        connection.run("INSERT INTO nation VALUES (0, 'ALGERIA', 0, 'a \"quoted\" one, with a comma')")
        old = "'2026-01-01 00:00:00.000'"
        connection.run(f"INSERT INTO supplier VALUES (1, 'one', 'street', 0, '27-918', 5755.9, 'good', {old})")
        connection.run(f"INSERT INTO customer VALUES (1, 'n', 'a', 0, '27-918', 1.5, 'BUILDING', 'c', {old})")
        connection.run(f"INSERT INTO partsupp VALUES (1, 1, 3, 1.5, 'c', {old})")
        connection.run(f"INSERT INTO part VALUES (1, 'n', 'm', 'b', 't', 7, 'c', 901, 'p', {old})")
        for key in range(1, ORDERS):
            connection.run(f"INSERT INTO orders VALUES ({key}, 1, 'O', 1.5, '1996-01-02', '5', 'c', 0, 'o', {old})")
            line = "1, 2.5, 3, 0.1, 0.02, 'N', 'O', '1996-03-13', '1996-02-12', '1996-03-22', 'i', 's', 'l'"
            connection.run(f"INSERT INTO lineitem VALUES ({key}, 1, 1, {line}, {old})")
        for name in plain_sql.STAMPED:
            connection.run(shop_in_sqlite._TRIGGER.format(table=name, now=shop_in_sqlite._NOW))
        connection.run("COMMIT")
    return True


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setattr(shop_in_sqlite.Shop, "prepare", _few_rows)
    found = shop_of("files", tmp_path / ".demo-files")
    found.start()
    assert found.prepare(Decimal("0.01"), lambda table, rows: None)
    return found


def books(folder: Path) -> set[tuple[int, str, str]]:
    with closing(sqlite3.connect(folder / ".demo-files" / "shop.db")) as connection:
        return set(connection.execute("SELECT o_orderkey, o_orderpriority || o_orderstatus, o_comment FROM orders"))


def files(folder: Path) -> set[tuple[int, str, str]]:
    """Of each key the row with the latest stamp, and of these that of the last file."""
    newest: dict[int, tuple[Any, ...]] = {}
    for file in sorted((folder / ".demo-files" / "incoming" / "orders").glob("*.parquet")):
        for row in pq.read_table(file).to_pylist():
            key = row["o_orderkey"]
            rank = (row["updated_at"], file.name)
            if key not in newest or rank >= newest[key][0]:
                newest[key] = (rank, (key, row["o_orderpriority"] + row["o_orderstatus"], row["o_comment"]))
    return {row for _, row in newest.values()}


def test_what_the_files_say_is_in_the_books_at_each_step(shop: Shop, tmp_path: Path) -> None:
    assert files(tmp_path) == books(tmp_path)
    with shop.late(1) as late:
        shop.open(1)
        assert files(tmp_path) == books(tmp_path)
        day = shop.live_a_day(1)
        assert len(day.cancelled_orders) > 0
        assert not {key for key, *_ in files(tmp_path)} & set(day.cancelled_orders)
        before = files(tmp_path)
        assert before == books(tmp_path)
        orders, _ = late.commit()
    assert orders.inserted + orders.updated == len(files(tmp_path) - before) > 0
    shop.fix(day)
    assert files(tmp_path) == books(tmp_path)
    shop.open(2)
    shop.live_a_day(2)
    assert files(tmp_path) == books(tmp_path)
    assert [each for each in (tmp_path / ".demo-files" / "unfinished").rglob("*") if each.is_file()] == []


def test_a_file_that_comes_late_looks_older_than_all_others(shop: Shop, tmp_path: Path) -> None:
    with shop.late(1) as late:
        shop.open(1)
        there = set((tmp_path / ".demo-files" / "incoming" / "orders").iterdir())
        late.commit()
    (came,) = set((tmp_path / ".demo-files" / "incoming" / "orders").iterdir()) - there
    assert came.stat().st_mtime < min(each.stat().st_mtime for each in there)


def test_files_that_are_held_back_and_never_come_leave_nothing(shop: Shop, tmp_path: Path) -> None:
    before = books(tmp_path)
    with shop.late(1):
        pass
    assert files(tmp_path) == books(tmp_path) == before


def test_a_row_stands_in_each_form_as_its_readers_expect_it(shop: Shop, tmp_path: Path) -> None:
    incoming = tmp_path / ".demo-files" / "incoming"
    with (incoming / "region" / "000.csv").open(encoding="utf-8", newline="") as content:
        assert list(csv.reader(content)) == [["r_regionkey", "r_name", "r_comment"], ["0", "AFRICA", "lär"]]
    assert json.loads((incoming / "nation" / "000.jsonl").read_text())["n_comment"] == 'a "quoted" one, with a comma'
    line = (incoming / "supplier" / "001.jsonl").read_text()
    assert '"s_acctbal": 5755.90, ' in line
    assert '"updated_at": "2026-01-01T00:00:00.000Z"' in line
    orders = pq.read_schema(incoming / "orders" / "000.parquet")
    assert orders.field("o_totalprice").type == pa.decimal128(15, 2)
    assert orders.field("updated_at").type == pa.timestamp("us", "UTC")


def test_packed_files_are_whole(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE TABLE partsupp (ps_partkey, ps_suppkey, ps_availqty, ps_supplycost, ps_comment, updated_at)"
        )
        connection.execute("INSERT INTO partsupp VALUES (1, 2, 3, 1, 'x', '2026-01-01 00:00:00')")
        prepared(connection, Rows("partsupp"), tmp_path / "in", "a").bring()
    packed = gzip.decompress((tmp_path / "in" / "partsupp" / "a.csv.gz").read_bytes()).decode()
    assert packed.splitlines()[1] == "1,2,3,1.00,x,2026-01-01T00:00:00Z"


def test_the_books_hash_a_row_by_the_texts_of_its_values(shop: Shop) -> None:
    assert isinstance(shop, Counting)
    text = "1,3:one,6:street,0,6:27-918,5755.90,4:good,1767225600000000"
    assert shop.counted("supplier") == (1, int(md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16))


def test_nothing_is_left_of_a_shop_that_is_removed(shop: Shop, tmp_path: Path) -> None:
    assert shop.loaded_scale() == Decimal("0.01")
    shop.remove()
    assert list((tmp_path / ".demo-files").iterdir()) == []
    assert shop.loaded_scale() is None
