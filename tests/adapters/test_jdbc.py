"""How Spark's readers connect: what the driver must know keeps its case on every way to it, and no secret is in the address."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.connect import jdbc_properties, jdbc_url

ADDRESS = Address(
    "postgresql", "db.example.com", 5432, "shop", "reader", "s3cret&of=reader", socket_timeout=timedelta(seconds=45)
)


def settings(address: Address) -> dict[str, str]:
    """What the driver reads from the address."""
    asked = urlsplit(jdbc_url(address).removeprefix("jdbc:")).query
    return {name: value for name, (value,) in parse_qs(asked, strict_parsing=True).items()}


def test_deadlines_are_in_the_address_whose_case_nobody_changes() -> None:
    found = settings(ADDRESS)
    assert (found["socketTimeout"], found["readOnly"]) == ("45", "true")
    assert (found["connectTimeout"], found["loginTimeout"], found["sslmode"]) == ("10", "10", "disable")


def test_no_option_of_the_reader_has_a_name_that_spark_connect_would_change() -> None:
    assert [name for name in jdbc_properties(ADDRESS) if name != name.lower()] == []


def test_who_asks_and_the_password_are_not_in_the_address() -> None:
    assert [word for word in ("s3cret", "user", "reader") if word in jdbc_url(ADDRESS)] == []
    assert (jdbc_properties(ADDRESS)["user"], jdbc_properties(ADDRESS)["password"]) == ("reader", "s3cret&of=reader")


def test_a_name_or_a_path_with_signs_of_an_address_in_it_stays_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = tmp_path / "our root&ssl=0?.crt"
    authority.write_text("")
    monkeypatch.setenv("PGSSLROOTCERT", str(authority))
    odd = Address("postgresql", "::1", 5432, "a?b&c=d/é", "reader", "", tls="verify-full")
    assert settings(odd)["sslrootcert"] == str(authority)
    assert unquote(urlsplit(jdbc_url(odd).removeprefix("jdbc:")).path) == "/a?b&c=d/é"
