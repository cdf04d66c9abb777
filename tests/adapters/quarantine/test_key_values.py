"""A key is known again from the text that its source wrote of it: of any year, with a zone, and of bytes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.delta.key_values import canonical_text, key_value
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = 86_400_000_000


def column(kind: str, source_type: str = "") -> Column:
    return Column("k", source_type or kind, kind, Fidelity.EXACT)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date", "2024-02-29", (date(2024, 2, 29) - date(1970, 1, 1)).days),
        ("date", "10000-01-01", (date(9999, 12, 31) - date(1970, 1, 1)).days + 1),
        ("date", "+10000-01-01", (date(9999, 12, 31) - date(1970, 1, 1)).days + 1),
        ("date", "0001-12-31 BC", (date(1, 1, 1) - date(1970, 1, 1)).days - 1),
        ("date", "-0001-12-31", (date(1, 1, 1) - date(1970, 1, 1)).days - 367),
        ("date", "2023-02-29", None),
        ("date", "infinity", None),
        ("timestamp_ntz", "1970-01-02 00:00:01.5", DAY + 1_500_000),
        ("timestamp_ntz", "1970-01-01T00:01", 60_000_000),
        ("timestamp", "1970-01-01 03:00:00.000001+03", 1),
        ("timestamp", "1969-12-31 20:30:00-03:30", 0),
        ("timestamp", "1970-01-01T00:00:00Z", 0),
        ("timestamp", "1970-01-01 05:30:00+0530", 0),
        ("timestamp", "11970-01-02 00:00:00+00", 25 * 146_097 * DAY + DAY),
        ("decimal(10,2)", "1.50", Decimal("1.50")),
        ("boolean", "true", True),
        ("int", "7", 7),
        ("int", "seven", None),
    ],
)
def test_a_value_is_read_from_the_text_of_any_source(kind: str, text: str, value: object) -> None:
    assert key_value(text, column(kind)) == value


@pytest.mark.parametrize(
    ("source_type", "text", "value"),
    [
        ("bytea", r"\x0aff", b"\x0a\xff"),
        ("bytea", r"\x", b""),
        ("binary(2)", "x'0aff'", b"\x0a\xff"),
        ("BLOB", "x'41'", b"A"),
        ("varbinary(16)", r"\x61", rb"\x61"),
    ],
)
def test_bytes_are_read_as_each_source_shows_them(source_type: str, text: str, value: bytes) -> None:
    assert key_value(text, column("binary", source_type)) == value


@pytest.mark.parametrize(
    ("kind", "text", "canonical"),
    [
        ("string", "ab", "2:ab"),
        ("string", r"a\x", None),
        ("int", "-7", "-7"),
        ("boolean", "f", None),
        ("boolean", "false", "false"),
        ("decimal(10,2)", "0.01", "0.01"),
        ("decimal(38,9)", "0.000000001", "0.000000001"),
        ("date", "1970-01-02", "1"),
        ("timestamp", "1970-01-01 00:00:01+00", "1000000"),
        ("binary", "x'0aff'", "0aff"),
    ],
)
def test_such_a_key_has_the_text_by_which_a_source_is_asked_for_it(kind: str, text: str, canonical: str | None) -> None:
    assert canonical_text(text, column(kind)) == canonical


# --- on a real database -------------------------------------------------------------------------------

KEYS = {
    "days": ("date", "'10000-01-01'"),
    "early": ("date", "'0044-03-15 BC'"),
    "moments": ("timestamptz", "'12024-01-02 03:04:05.5+02'"),
    "octets": ("bytea", r"'\x0aff'"),
    "numbers": ("numeric(10,2)", "1.50"),
}


@pytest.mark.acceptance
def test_a_row_with_a_key_of_any_type_counts_until_it_lands_or_is_gone(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    tables = "".join(
        f"- {{table: public.{name}, cursor: {{column: at, type: timestamp}}, strategy: upsert}}\n" for name in KEYS
    )
    stand = Stand(Shop.open(postgres, database, tmp_path, tables, options="unlisted: ignore"), spark)
    for name, (kind, value) in KEYS.items():
        stand.execute(
            f"CREATE TABLE {name} (k {kind} PRIMARY KEY, v numeric(6,2), at timestamptz NOT NULL DEFAULT clock_timestamp())",
            f"INSERT INTO {name} VALUES ({value}, 'NaN')",
        )
    stand.land()
    assert unfit(stand) == dict.fromkeys(KEYS, 1)

    for name in KEYS:
        stand.execute(f"UPDATE {name} SET v = 1, at = clock_timestamp()")
    stand.land()
    assert unfit(stand) == dict.fromkeys(KEYS, 0)

    for name in KEYS:
        stand.execute(f"UPDATE {name} SET v = 'NaN', at = clock_timestamp()")
    stand.land()
    assert unfit(stand) == dict.fromkeys(KEYS, 1)
    for name in KEYS:
        stand.execute(f"DELETE FROM {name}")
        stand.verdicts(name)
    assert unfit(stand) == dict.fromkeys(KEYS, 0)


def unfit(stand: Stand[Any]) -> dict[str, int]:
    with stand.runtime() as runtime:
        quarantine = runtime.ports("shop").quarantine
        found = {name: quarantine.unfit(stand.spec(name)) for name in KEYS}
    return {name: -1 if each is None else each.rows for name, each in found.items()}
