"""A key of any type is erased however somebody has written it: from the copy, and from a quarantine, which has it as the source wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.erasure.eraser import Eraser
from incremental_assets.adapters.erasure.prover import examine
from incremental_assets.core.maintenance.erase import erase
from incremental_assets.core.model.erased import ErasureKey
from incremental_assets.core.model.subject import subjects_in
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.erasure.erasing import SECRET, grounds
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = (
    "\n- {table: public.people, cursor: {column: at, type: timestamp}, strategy: upsert, column_names: snake_case}\n"
)


@pytest.mark.parametrize(
    ("kind", "hers", "his", "written"),
    [
        ("int", "7", "70", "007"),
        ("numeric(12,2)", "1.50", "1.05", "1.5"),
        ("timestamptz", "2024-01-01 10:00:00+02", "2024-01-01 10:00:00+00", "2024-01-01T08:00:00Z"),
        ("bytea", r"\x0a0b", r"\x0b0a", "0a0b"),
        (
            "uuid",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "5a3c1b0e-7d2f-4c61-9e0a-2b8f6d4c1a90",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        ),
        ("char(8)", "ann", "anna", "ann"),
    ],
)
def test_a_key_is_erased_however_it_is_written(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch,
    kind: str, hers: str, his: str, written: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    monkeypatch.setenv("ERASURE_KEY", SECRET)
    shop = Shop.open(postgres, database, tmp_path, TABLE, options="unlisted: ignore")
    shop.config.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{shop.config.read_text()}")
    desk = Stand(shop, spark)
    desk.execute(
        f'CREATE TABLE people ("PersonId" {kind} PRIMARY KEY, born date, at timestamptz NOT NULL DEFAULT clock_timestamp())',
        f"INSERT INTO people VALUES ('{hers}', '2024-01-01'), ('{his}', '2024-01-01')",
    )
    desk.land()
    desk.execute("UPDATE people SET born = 'infinity', at = clock_timestamp()")
    desk.land()
    assert len(rows_of(tmp_path, "_quarantine/shop/public/people")) == 2
    with desk.runtime() as runtime:
        spec = desk.spec("people")
        subjects = subjects_in(written, spec.key_columns, "keys.txt")
        erase(spec, "erase", runtime.ports("shop"), Eraser(grounds(desk), spec, subjects, ErasureKey(SECRET)))
    assert len(rows_of(tmp_path, "_quarantine/shop/public/people")) == 1
    assert examine(grounds(desk), subjects).left == ()
    for born in ("infinity", "2024-01-01"):
        desk.execute(f"UPDATE people SET born = '{born}', at = clock_timestamp()")
        desk.land()
        assert examine(grounds(desk), subjects).left == ()
    assert len(rows_of(tmp_path, "shop/public/people")) == 1


def rows_of(home: Path, path: str) -> list[dict[str, object]]:
    table = DeltaTable(str(home / "lake" / path))
    return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t")).to_pylist()
