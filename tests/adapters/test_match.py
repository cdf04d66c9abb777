"""A glob across schemas, asked of a real database: each tenant's table has the terms, one that comes later has them too."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.resolve import resolve_all
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.resources.database import open_probe
from tests.shop import PASSWORD, Shop

TENANTS = "\n- {match: 'tenant_*.orders', cursor: {column: at, type: timestamp}, strategy: upsert}\n"


def test_a_glob_across_schemas_stands_for_each_tenant_and_for_one_that_comes_later(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    shop = Shop.open(postgres, database, tmp_path, TENANTS, options="unlisted: ignore")

    def tenant(number: int) -> None:
        shop.execute(
            f"CREATE SCHEMA tenant_{number}",
            f"CREATE TABLE tenant_{number}.orders (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            f"CREATE TABLE tenant_{number}.notes (id int PRIMARY KEY)",
        )

    source = load(shop.config).source("shop")
    probe = open_probe(source, shop.config)

    def found() -> tuple[list[str], list[str]]:
        """Tables that can be synced, and those that cannot."""
        resolved = resolve_all(source, probe.catalogue())
        specs = [f"{spec.id.schema}.{spec.id.name} {spec.strategy}" for spec in resolved.specs]
        return sorted(specs), [str(each.table) for each in resolved.problems]

    tenant(1)
    shop.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    assert found() == ([], ["shop.tenant_1.orders"]), "the role may not read it yet"
    tenant(2)
    for number in (1, 2):
        shop.execute(
            f"GRANT USAGE ON SCHEMA tenant_{number} TO PUBLIC",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA tenant_{number} TO PUBLIC",
        )
    assert found() == (["tenant_1.orders upsert", "tenant_2.orders upsert"], [])
    probe.close()
