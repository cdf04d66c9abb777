"""The databases that may be written: those of this package, and those of others."""

from __future__ import annotations

import pytest

from incremental_assets.core.config.dialects import (
    BUILT_IN,
    OTHERS,
    checked_dialect,
    dialect_of_scheme,
    facts_of,
    files,
    kind_of,
    known_dialects,
)


def test_a_database_of_an_installed_package_is_known_with_what_it_says_of_itself(rowstore: str) -> None:
    assert known_dialects() == (*BUILT_IN, *OTHERS, rowstore)
    assert (checked_dialect(rowstore), dialect_of_scheme("rows+driver"), kind_of(rowstore)) == (
        rowstore,
        rowstore,
        "db2",
    )
    facts = facts_of(rowstore)
    assert (facts.port, facts.schema, facts.is_file, facts.compares) == (1521, "public", False, False)


@pytest.mark.parametrize(
    ("scheme", "dialect"),
    [("postgres", "postgresql"), ("postgresql+psycopg", "postgresql"), ("sqlite3", "sqlite"), ("MySQL", "mysql")],
)
def test_the_beginnings_of_addresses_that_people_know_are_taken(scheme: str, dialect: str) -> None:
    assert dialect_of_scheme(scheme) == dialect


@pytest.mark.parametrize(
    ("written", "extra"), [("oracle", "oracle"), ("sqlserver", "sqlserver"), ("mssql", "sqlserver")]
)
def test_a_database_whose_package_is_not_installed_is_named_with_the_command_that_installs_it(
    written: str, extra: str
) -> None:
    with pytest.raises(
        ValueError, match=rf"not installed; install it by `pip install 'incremental-assets\[{extra}\]'`"
    ):
        dialect_of_scheme(written)


def test_the_defaults_are_those_of_a_database_that_says_nothing_of_itself() -> None:
    facts = facts_of("a database that nobody brings")
    assert (facts.port, facts.schema, facts.numbering, facts.compares) == (5432, "public", "", True)


def test_sqlite_alone_is_a_file() -> None:
    assert files() == ("sqlite",)
