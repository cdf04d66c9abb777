"""SQLite's values: any may stand in any column, so that each is taken as it is or named, and two spellings of one key are one."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.row_texts import hexadecimal
from incremental_assets.adapters.databases.sqlite import sql, window_queries
from incremental_assets.adapters.databases.sqlite.keys import read_keys
from incremental_assets.adapters.databases.sqlite.types import converter, spark_type
from incremental_assets.core.model.column import Fidelity
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor
from tests.adapters.databases import where_contract
from tests.adapters.databases.contract import planned, probe, spec_of
from tests.adapters.databases.sqlite_file import File, world

__all__ = ("probe", "world")


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("INTEGER", "bigint"),
        ("UNSIGNED BIG INT", "bigint"),
        ("VARCHAR(20)", "string"),
        ("text", "string"),
        ("BLOB", "binary"),
        ("DOUBLE PRECISION", "double"),
        ("BOOLEAN", "boolean"),
        ("DATE", "date"),
        ("DATETIME", "timestamp_ntz"),
        ("NUMERIC(10,2)", "string"),
        ("", "string"),
    ],
)
def test_a_declared_type_has_its_type_in_spark(declared: str, kind: str) -> None:
    assert spark_type(declared)[0] == kind


@pytest.mark.parametrize(
    ("kind", "stored", "value"),
    [
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("boolean", 1, True),
        ("double", -0.0, -0.0),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("timestamp_ntz", "2024-01-31 10:00:00.5", datetime.fromisoformat("2024-01-31T10:00:00.500000")),
        ("timestamp_ntz", "2024-01-31T10:00", datetime.fromisoformat("2024-01-31T10:00:00")),
        ("binary", b"\x00", b"\x00"),
        ("string", "a", "a"),
    ],
)
def test_a_value_of_its_kind_is_taken_as_it_is(kind: str, stored: Any, value: Any) -> None:
    assert converter(kind, Fidelity.EXACT)(stored) == value


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("bigint", "12"),
        ("bigint", 1.0),
        ("boolean", 2),
        ("double", "1.5"),
        ("date", "2023-02-29"),
        ("date", 19753),
        ("timestamp_ntz", 1704164645),
        ("timestamp_ntz", "2024-01-31T10:00:00+25:00"),
        ("timestamp_ntz", "2024-01-31 25:00:00"),
        ("binary", "text"),
        ("string", b"bytes"),
        ("string", "\udcff"),
    ],
)
def test_a_value_of_another_kind_is_refused_and_never_altered(kind: str, stored: Any) -> None:
    with pytest.raises(Unfit):
        converter(kind, Fidelity.EXACT)(stored)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.5, "0x1.8p0"),
        (0.1, "0x1.999999999999ap-4"),
        (-0.0, "-0x0.0p0"),
        (5e-324, "0x0.0000000000001p-1022"),
        (float("inf"), "Infinity"),
    ],
)
def test_a_double_is_written_as_java_writes_it(number: float, text: str) -> None:
    assert hexadecimal(number) == text


def test_of_a_number_and_its_text_in_one_key_column_the_number_lands_and_the_text_is_told(world: File) -> None:
    """They are two keys to SQLite, in a column of no type, and would be one in the copy; of `NUMERIC` only infinity is."""
    world.execute(
        "CREATE TABLE mixed (id NOT NULL, part NUMERIC NOT NULL, other, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (id, part))",
        "INSERT INTO mixed (id, part, other) VALUES (1, 7, '1'), ('1', '7', '2'), (1.5, 7, '3'), ('1.5', 7, '4'), "
        "('one', 7, '5'), ('01', 7, '6'), (2, 9e999, '7'), (2, 'inf', '8'), (x'31', 7, '9')",
    )
    spec = spec_of(world, "mixed", Cursor("updated_at", CursorType.DATETIME))
    connection = world.connect()
    sql.install(connection)
    unfit = {row.stored[2]: (row.column, row.reason) for row in window_queries.unfit(connection, spec, ())}
    landed = [row.values[:3] for row in window_queries.landable(connection, spec, ())]
    keys = read_keys(connection, spec)
    connection.close()
    assert sorted(landed) == [
        ("01", "7", "6"),
        ("1", "7", "1"),
        ("1.5", "7", "3"),
        ("2", "inf", "7"),
        ("one", "7", "5"),
    ]
    assert {other: column for other, (column, _) in unfit.items()} == {"2": "id", "4": "id", "8": "part", "9": "id"}
    assert unfit["2"][1].startswith(
        "another row's key is the same number in another spelling (keep one of the two, or declare the column's type)"
    )
    assert len(keys.all) == 5


@pytest.mark.parametrize(
    "number", ["1", "-9223372036854775808", "9223372036854775807", "1.5", "-0.0", "1e+16", "inf", "-inf", "5e-324"]
)
def test_a_text_of_a_key_that_a_stored_number_lands_as_is_held_while_that_is_there(world: File, number: str) -> None:
    assert landing_of_texts(world, number) == [number]
    world.execute(f"INSERT INTO codes (code) SELECT {number.replace('inf', '9e999')}")
    assert landing_of_texts(world) == [number]


@pytest.mark.parametrize(
    "text",
    [
        "nan",
        "12345678901234567890",
        "9223372036854775808",
        "-9223372036854775809",
        "1e16",
        "01",
        "+1",
        "Infinity",
        "9" * 5000,
    ],
)
def test_a_text_of_a_key_that_no_stored_number_lands_as_lands(world: File, text: str) -> None:
    assert landing_of_texts(world, text) == [text]


def landing_of_texts(world: File, *texts: str) -> list[str]:
    """The keys that land of a table whose key has no type, once these texts are in it."""
    world.execute(
        "CREATE TABLE IF NOT EXISTS codes (code NOT NULL PRIMARY KEY, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
        *(f"INSERT INTO codes (code) VALUES ('{text}')" for text in texts),
    )
    spec, connection = spec_of(world, "codes"), world.connect()
    sql.install(connection)
    landed = [row.values[0] for row in window_queries.landable(connection, spec, ())]
    connection.close()
    return landed


def test_a_primary_key_that_may_hold_null_is_told_as_such_and_is_none(world: File) -> None:
    """SQLite alone lets a primary key hold NULL, and several."""
    world.execute(
        "CREATE TABLE loose (code TEXT PRIMARY KEY, note TEXT)", "INSERT INTO loose VALUES (NULL, 'a'), (NULL, 'b')"
    )
    shapes = {shape.id.name: shape for shape in SqlProbe(world.address, "shop").catalogue()}
    assert (shapes["loose"].primary_key, shapes["loose"].own_key) == ((), ("code",))
    assert (shapes["first"].primary_key, shapes["first"].own_key) == ((), ())


def test_a_spelling_of_a_key_that_the_condition_leaves_out_keeps_no_row_out(world: File, probe: SqlProbe) -> None:
    world.execute(
        "CREATE TABLE seen (at DATETIME NOT NULL PRIMARY KEY, tenant_id INTEGER, updated_at DATETIME)",
        "INSERT INTO seen VALUES ('2024-01-01 10:00', 8, '2024-01-01 10:00:00'), ('2024-01-01T10:00', 7, '2024-01-01 10:00:00')",
    )
    every, some = spec_of(world, "seen"), where_contract.chosen(world, "seen", "tenant_id = 7")

    with probe.snapshot(planned(probe, every)) as numbers:
        assert (numbers.rows, numbers.rejected) == (2, 1)
    with probe.snapshot(planned(probe, some)) as numbers:
        assert (numbers.rows, numbers.rejected) == (1, 0)
