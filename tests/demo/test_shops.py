"""The shop in MariaDB and in SQLite: the same data and the same day as in PostgreSQL."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.demo import plain_sql, shop_in_mariadb
from incremental_assets.demo.day import UPDATES
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.shop import Shop, remove_all, shop_of
from incremental_assets.demo.tpch import DATABASE, TABLES

SCALE = Decimal("0.01")
Ask = Callable[[str], list[tuple[Any, ...]]]


def test_the_tables_are_those_of_postgresql_with_their_keys() -> None:
    made = list(plain_sql.tables("datetime NOT NULL"))
    assert [statement.split()[2] for statement in made] == list(TABLES) == list(plain_sql.KEYS)
    assert sum("datetime NOT NULL" in statement for statement in made) == 6
    assert not any("timestamptz" in statement for statement in made)
    assert "PRIMARY KEY (l_orderkey, l_linenumber)" in made[-1]
    assert set(plain_sql.UPDATES) == set(UPDATES)


def test_a_file_of_rows_is_closed_when_mariadb_has_loaded_it(tmp_path: Path) -> None:
    class Takes:
        def run(self, statement: str, values: tuple[str, ...]) -> int:
            return 7 if "(r_regionkey,r_name)" in statement and values == (str(file),) else 0

        rows = run

    file = tmp_path / "region.csv"
    file.write_text("r_regionkey,r_name\n1,ASIA\n")
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always", ResourceWarning)
        assert shop_in_mariadb._load(Takes(), "region", file) == 7  # type: ignore[arg-type]
    assert [str(each.message) for each in met] == []


@pytest.fixture
def in_sqlite(tmp_path: Path) -> Iterator[tuple[Shop, Ask]]:
    shop = shop_of("sqlite", tmp_path / ".demo-sqlite")
    file = shop.start()

    def ask(query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(query).fetchall()

    yield shop, ask
    remove_all(tmp_path)
    assert list((tmp_path / ".demo-sqlite").iterdir()) == []


@pytest.fixture
def in_mariadb(tmp_path: Path, mariadb: EmbeddedMariaDB) -> Iterator[tuple[Shop, Ask]]:
    """A server of its own; that of the run shows that there are programs for one."""
    folder = tmp_path / ".demo-mariadb"
    shop = shop_of("mariadb", folder)
    shop.start()

    def ask(query: str) -> list[tuple[Any, ...]]:
        with EmbeddedMariaDB(folder).connect(DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    yield shop, ask
    remove_all(tmp_path)
    assert not folder.exists()


@pytest.fixture(params=["in_sqlite", pytest.param("in_mariadb", marks=pytest.mark.mariadb)])
def played(request: pytest.FixtureRequest) -> tuple[Shop, Ask]:
    found: tuple[Shop, Ask] = request.getfixturevalue(request.param)
    return found


def counts(ask: Ask) -> dict[str, int]:
    return {table: ask(f"SELECT COUNT(*) FROM {table}")[0][0] for table in TABLES}


@pytest.mark.acceptance
def test_the_day_s_report_counts_what_the_tables_show(played: tuple[Shop, Ask]) -> None:
    shop, ask = played
    loaded: dict[str, int] = {}
    assert shop.loaded_scale() is None
    assert shop.prepare(SCALE, loaded.__setitem__)
    assert shop.loaded_scale() == SCALE
    assert not shop.prepare(SCALE, loaded.__setitem__)
    assert loaded == counts(ask)
    assert ask("SELECT COUNT(DISTINCT updated_at) > 1000 FROM lineitem") == [(1,)]
    ((newest,),) = ask("SELECT MAX(updated_at) FROM lineitem")

    with shop.late(7) as late:
        shop.open(7)
        before = counts(ask)
        day = shop.live_a_day(7)
        assert counts(ask) == {name: before[name] + day.of(name).inserted - day.of(name).deleted for name in TABLES}
        arrived = late.commit()
    inserted = {each.table: each.inserted for each in arrived}
    assert counts(ask) == {
        name: before[name] + day.of(name).inserted - day.of(name).deleted + inserted.get(name, 0) for name in TABLES
    }
    changed = {
        name: ask(f"SELECT COUNT(*) FROM {name} WHERE updated_at > '{newest}'")[0][0] for name in plain_sql.STAMPED
    }
    assert changed["part"] == day.of("part").updated
    assert changed["orders"] >= day.of("orders").inserted + day.of("orders").updated + inserted.get("orders", 0)
    assert ask(
        f"SELECT COUNT(*) FROM supplier WHERE s_suppkey = {day.future_supplier} AND updated_at > '2036-01-01'"
    ) == [(1,)]
    assert ask(
        "SELECT COUNT(*) FROM lineitem LEFT JOIN orders ON o_orderkey = l_orderkey WHERE o_orderkey IS NULL"
    ) == [(0,)]
    spoilt = "SELECT COUNT(*), MIN(p_partkey) FROM part WHERE p_size NOT BETWEEN 1 AND 50"
    assert ask(spoilt) == [(1, day.spoilt_part)]
    shop.fix(day)
    assert ask(spoilt) == [(0, None)]


@pytest.mark.acceptance
def test_what_is_late_is_stamped_before_the_first_changes_of_the_day(in_mariadb: tuple[Shop, Ask]) -> None:
    shop, ask = in_mariadb
    shop.prepare(SCALE, lambda table, rows: None)
    with shop.late(1) as late:
        shop.open(1)
        ((opened,),) = ask("SELECT MAX(updated_at) FROM orders")
        orders, lines = late.commit()
    assert orders.updated > 0
    ((stamped,),) = ask("SELECT MAX(updated_at) FROM orders WHERE o_comment = 'stamped early, committed late'")
    assert stamped < opened
    assert lines.table == "lineitem"
