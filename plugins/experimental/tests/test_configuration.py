"""What sources.yaml takes of these databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.dialects import dialect_of_scheme, facts_of, kind_of
from incremental_assets.core.config.load import load
from tests.core.mistakes import in_table, only_problem
from tests.test_docs import configurations

XMIN = "table: public.a\ncursor: {type: xmin} #!\nstrategy: upsert"
ORACLE = """lake: ./lake
checkpoints: sqlite:///c.db
sources:
  web:
    dialect: oracle
    host: localhost
    database: shop
    user: reader
"""


def test_a_schema_of_oracle_is_that_of_the_user_in_upper_case(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(ORACLE)
    source = load(tmp_path / "sources.yaml").source("web")
    assert (source.schemas, source.port) == (("READER",), 1521)


def test_tables_of_sql_server_lie_in_dbo_unless_written_otherwise(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(ORACLE.replace("oracle", "sqlserver"))
    source = load(tmp_path / "sources.yaml").source("web")
    assert (source.schemas, source.port) == (("dbo",), 1433)


def test_an_address_may_begin_as_people_know_it() -> None:
    assert (dialect_of_scheme("mssql+pyodbc"), kind_of("sqlserver"), kind_of("oracle")) == (
        "sqlserver",
        "mssql",
        "oracle",
    )
    assert not facts_of("oracle").compares


@pytest.mark.parametrize(
    ("dialect", "kind", "cure"),
    [
        ("mysql", "rowversion", "a word of sqlserver, and this source is mysql"),
        ("postgresql", "ora_rowscn", "a word of oracle"),
        ("sqlserver", "xmin", "write `type: rowversion`, a cursor of another type, or `strategy: full_refresh`"),
        ("oracle", "rowversion", "write `type: ora_rowscn`, a cursor of another type, or `strategy: full_refresh`"),
    ],
)
def test_each_has_its_own_word_for_the_transaction_that_wrote_a_row(
    tmp_path: Path, dialect: str, kind: str, cure: str
) -> None:
    text = in_table(XMIN.replace("xmin}", f"{kind}}}"))
    problem = only_problem(tmp_path, text.replace("dialect: postgresql", f"dialect: {dialect}"))
    assert problem.text == kind
    assert cure in problem.cure


def test_the_configurations_of_the_pages_are_without_a_mistake(tmp_path: Path) -> None:
    ours = [block for _, block in configurations() if "dialect: oracle" in block or "dialect: sqlserver" in block]
    assert len(ours) == 2
    for block in ours:
        (tmp_path / "sources.yaml").write_text(block, encoding="utf-8")
        assert load(tmp_path / "sources.yaml").sources
