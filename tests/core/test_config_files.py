"""A source that is a file: where it is, and what it has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.database_settings import Tls, database_of
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError

FILE = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  app:
    dialect: sqlite
    database: data/app.db
    tables: ["main.orders:updated_at:datetime!upsert"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "sources.yaml"
    path.write_text(text)
    return path


def test_its_path_is_relative_to_the_configuration_and_its_schema_is_main(tmp_path: Path) -> None:
    source = load(written(tmp_path, FILE)).source("app")
    assert database_of(source).database == str(tmp_path / "data" / "app.db")
    assert source.schemas == ("main",)
    assert (
        database_of(source).host,
        database_of(source).user,
        database_of(source).password,
        database_of(source).tls,
    ) == ("", "", None, Tls.DISABLE)


@pytest.mark.parametrize("line", ["host: localhost", "port: 1", "user: me", "password: {env: PW}", "tls: require"])
def test_what_only_a_server_has_is_refused_by_name(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(written(tmp_path, FILE.replace("dialect: sqlite", f"dialect: sqlite\n    {line}")))
    (problem,) = refused.value.problems
    key = line.partition(":")[0]
    assert problem.line == 7
    assert problem.cure == f"a file has no {key}; remove the key, `database` says where the file is"


def test_a_server_still_needs_its_host_and_its_user(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(written(tmp_path, FILE.replace("sqlite\n", "postgresql\n")))
    assert {problem.cure for problem in refused.value.problems} == {
        "the key `host` is missing; add it",
        "the key `user` is missing; add it",
    }


DATABASE = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  web:
    dialect: mariadb
    host: localhost
    database: shop
    user: reader
"""


def test_where_a_schema_is_a_database_it_is_that_of_the_source_and_the_port_is_its_own(tmp_path: Path) -> None:
    source = load(written(tmp_path, DATABASE)).source("web")
    assert (source.schemas, database_of(source).port) == (("shop",), 3306)
    other = load(written(tmp_path, DATABASE + "    port: 5432\n    schemas: [shop, archive]\n")).source("web")
    assert (other.schemas, database_of(other).port) == (("shop", "archive"), 5432)


def test_where_a_schema_is_a_database_that_a_reference_names_it_is_written(tmp_path: Path) -> None:
    referred = DATABASE.replace("database: shop", "database: {env: SHOP}")
    with pytest.raises(ConfigurationError) as refused:
        load(written(tmp_path, referred))
    (problem,) = refused.value.problems
    assert "write it as `schemas: [name]`" in problem.cure
    assert load(written(tmp_path, referred + "    schemas: [shop]\n")).source("web").schemas == ("shop",)


def test_where_a_schema_is_what_a_user_owns_it_is_that_of_the_user_in_upper_case(tmp_path: Path, rowstore: str) -> None:
    users = DATABASE.replace("mariadb", rowstore)
    source = load(written(tmp_path, users)).source("web")
    assert (source.schemas, database_of(source).port) == (("READER",), 1521)
    referred = users.replace("user: reader", "user: {env: READER}")
    with pytest.raises(ConfigurationError) as refused:
        load(written(tmp_path, referred))
    (problem,) = refused.value.problems
    assert "write it as `schemas: [NAME]`" in problem.cure
    assert load(written(tmp_path, referred + "    schemas: [SHOP]\n")).source("web").schemas == ("SHOP",)
