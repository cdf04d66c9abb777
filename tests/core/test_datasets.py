"""Catalogues of lineage know each table by the name that other programs have for it too."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.dataset import Dataset, dataset_at
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.resources.observers import datasets_of
from tests.datasets import NOWHERE

SOURCES = """\
lake: {lake}
checkpoints: sqlite:///checkpoints.db
sources:
  shop: {{dialect: postgresql, host: db.example.com, database: shop, user: reader, password: {{env: NEVER_SET}}}}
  maria: {{dialect: mariadb, host: maria, database: crm, user: reader, password: {{env: NEVER_SET}}}}
  till: {{dialect: sqlite, database: /data/till.db}}
  elsewhere: {{dialect: postgresql, host: {{env: SHOP_HOST}}, database: shop, user: reader, password: {{env: NEVER_SET}}}}
  events:
    dialect: kafka
    bootstrap_servers: "one:9093,two:9093"
    topics: {{public.orders: {{topic: shop.public.orders, format: debezium}}}}
  drop:
    dialect: files
    folder: /data/in
    files:
      in.prices: {{path: "prices/day=*/p-*.parquet", format: parquet}}
      in.rates: {{path: "rates.csv", format: csv, columns: {{rate: double}}}}
"""


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Datasets:
    monkeypatch.setenv("SHOP_HOST", "replica.example.com")
    return datasets_of(load(written(tmp_path)))


def written(folder: Path, lake: str = "s3a://lake/copies") -> Path:
    path = folder / "sources.yaml"
    path.write_text(SOURCES.format(lake=lake))
    return path


@pytest.mark.parametrize(
    ("table", "namespace", "name"),
    [
        (TableId("shop", "public", "orders"), "postgres://db.example.com:5432", "shop.public.orders"),
        (TableId("maria", "crm", "people"), "mysql://maria:3306", "crm.people"),
        (TableId("till", "main", "sales"), "sqlite:///data/till.db", "main.sales"),
        (TableId("elsewhere", "public", "orders"), "postgres://replica.example.com:5432", "shop.public.orders"),
        (TableId("events", "public", "orders"), "kafka://one:9093", "shop.public.orders"),
        (TableId("drop", "in", "prices"), "file", "/data/in/prices"),
        (TableId("drop", "in", "rates"), "file", "/data/in"),
    ],
)
def test_a_source_has_the_name_of_its_kind(datasets: Datasets, table: TableId, namespace: str, name: str) -> None:
    """And no password is looked up for it: none of theirs is set."""
    assert datasets.source(table) == Dataset(namespace, name)


def test_a_kind_without_such_names_has_those_of_the_configuration() -> None:
    assert NOWHERE.source(TableId("lab", "public", "runs")) == Dataset("lab", "public.runs")


def test_a_copy_has_the_name_of_its_files(datasets: Datasets) -> None:
    orders = TableId("shop", "public", "orders")
    assert datasets.copy(orders) == Dataset("s3://lake", "copies/shop/public/orders")
    assert datasets.copy(orders.history) == Dataset("s3://lake", "copies/shop/public/orders__history")


@pytest.mark.parametrize(
    ("path", "dataset"),
    [
        ("/data/lake/t", Dataset("file", "/data/lake/t")),
        ("s3://lake/t", Dataset("s3://lake", "t")),
        ("s3a://lake", Dataset("s3://lake", "/")),
        ("abfss://raw@acme.dfs.core.windows.net/t", Dataset("abfss://raw@acme.dfs.core.windows.net", "t")),
        ("gs://lake/a/t", Dataset("gs://lake", "a/t")),
    ],
)
def test_files_are_named_by_their_store(path: str, dataset: Dataset) -> None:
    assert dataset_at(path) == dataset


def test_a_host_that_is_only_referred_to_and_not_there_is_a_mistake_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_HOST", raising=False)
    datasets = datasets_of(load(written(tmp_path, "/lake")))
    with pytest.raises(ConfigurationError) as met:
        datasets.source(TableId("elsewhere", "public", "orders"))
    (problem,) = met.value.problems
    assert "SHOP_HOST is not set" in problem.cure
