"""T17: every type of PostgreSQL, with NULL, extremes and oddities: equal, or in quarantine with the reason; never silently changed."""

from __future__ import annotations

import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

AWKWARD = (Path(__file__).parents[1] / "adapters" / "awkward.sql").read_text()
"""`everything`, 309 rows of some 50 types, and `unholdable`, of whose seven rows Spark can hold one."""

MORE = """
CREATE TYPE size AS ENUM ('s', 'm', '', 'a,b', 'quo"te', 'né');
CREATE TYPE pocket AS (name text, pieces int[]);
CREATE TYPE coat AS (p pocket, sizes size[]);
CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);
CREATE DOMAIN evens AS even[];
CREATE TABLE more (
    id int PRIMARY KEY, nested coat, coats coat[], sizes size[], ev even, evs evens, cube int[][][], shifted int[],
    by1 bytea[], js json[], iva interval[], tsa timestamptz[], dra daterange, dmr datemultirange, n8r int8range,
    m8 macaddr8, bx box, ln line, seg lseg, pth path, poly polygon, circ circle, tq tsquery, jp jsonpath, snap pg_snapshot,
    iy interval year to month, is3 interval second(3), t3 time(3), tz0 timetz(0), bit1 bit, vb3 varbit(3), x xid, c cid, u uuid[], big jsonb, esc text
);
INSERT INTO more (id) VALUES (0);
INSERT INTO more VALUES (
    1, ROW(ROW('a "b", (c)', '{1,NULL}'), '{s,"a,b"}'), ARRAY[ROW(ROW(NULL, '{}'), '{}')::coat, NULL], '{s,"",né}', 2, '{2,NULL,4}', '{{{1,2}},{{3,NULL}}}', '[-1:1]={7,8,9}',
    ARRAY['\\x00ff'::bytea, ''], ARRAY['{"a":1,  "a":2}'::json, NULL], '{1 mon,-1 day}', ARRAY['infinity'::timestamptz, '1500-01-01 00:00+00', '0044-03-15 12:00+00 BC'], '[infinity,infinity]', '{[0044-03-15 BC,2020-01-01),[2021-01-01,)}', '(,9223372036854775807)',
    '08:00:2b:01:02:03:04:05', '((1,1),(0,0))', '{1,-1,0}', '[(0,0),(1e300,-1)]', '[(0,0),(1,1)]', '((0,0),(1,1),(2,0))', '<(0,0),Infinity>', '''fat'' & ( ''rat'' | !''cat'':AB )', '$.a[*] ? (@.b > 1)', '10:20:10,14,15',
    '-178000000 years', '-0.0004', '24:00:00', '23:59:59+14', B'1', B'', '3', '0', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}',
    '{"n": 123456789012345678901234567890.12345678901234567890, "e": 1e400, "u": "\\u00e9\\ud83d\\ude00", "": null}', E'\\b\\f\\v\\x01\\x7f\\u2028\\ufeff'
);
"""

UNREAD = {"string": "CAST({0} AS string)", "binary": "lower(hex({0}))", "date": "unix_date({0})"} | dict.fromkeys(
    ("timestamp", "timestamp_ntz"), "unix_micros(CAST({0} AS timestamp))"
)
"""What of a column is compared on the lake's side, where it is not the value itself."""


@scenario(
    "T17",
    "Tables with every type that a PostgreSQL server has, in rows of NULLs, extremes and oddities: numerics without precision and beyond 38 digits, NaN, infinities, BC years, 24:00, intervals, JSON, arrays of three dimensions, ranges, enums, domains, composites in composites, geometry, network, money, bits, citext, hstore and xml",
    holds="every value is equal: numbers exactly, floats bit by bit, stamps to the microsecond, everything else as PostgreSQL's own text",
    long=True,
)
def test_every_type(stand: OpenStand) -> None:
    tables = ["everything", "more"]
    desk = stand("[]", AWKWARD, MORE)
    tables += _with_extension(desk, "citext", "'MiXed', 'ÄÖ'") + _with_extension(
        desk, "hstore", "'a=>1, b=>NULL', '\"x y\"=>\"\"'"
    )
    tables += _with_extension(desk, "xml", "'<a b=\"c\">&amp;</a>', '<?xml version=\"1.0\"?><r/>'")
    desk.shop.configure(
        "\n".join(f"- {{table: public.{name}, strategy: full_refresh}}" for name in tables), "unlisted: ignore"
    )
    desk.land()
    compared = {name: _assert_equal_values(desk, desk.spec(name)) for name in tables}

    assert compared["everything"] > 60 * 2
    assert compared["more"] > 30
    exact = {
        column.source_type for name in tables for column in desk.spec(name).columns if column.fidelity is Fidelity.EXACT
    }
    assert not exact & {"numeric", "numeric(50,2)", "interval", "jsonb", "uuid", "money", "integer[]"}, (
        "these are texts, and told to be"
    )


@scenario(
    "T17",
    "Rows hold what no type of Spark can: NaN in numeric(5,2), infinite dates and timestamps, a moment after the year 294246",
    holds="each such row is in quarantine, whole and as text, with the column and the reason; the others land; nothing is rounded or made NULL",
    bugs=("airbyte #7871",),
    long=True,
)
def test_values_that_fit_nowhere(stand: OpenStand) -> None:
    desk = stand('- "public.unholdable:id:integer!upsert"', AWKWARD)
    report = desk.land()["unholdable"]

    assert (report.rows.read, report.rows.inserted, report.rows.quarantined) == (7, 1, 6)
    assert desk.copy("unholdable", "id", "v") == [(7, "fine")]
    kept = {row["id"]: row for row in desk.quarantined("unholdable")}
    assert {number: row["_sync_column"] for number, row in kept.items()} == {
        "1": "n", "2": "d", "3": "d", "4": "ts", "5": "ts", "6": "tsz",
    }  # fmt: skip
    assert kept["1"]["_sync_reason"] == "NaN does not fit into decimal(5,2)"
    columns = ("id", "n", "d", "ts", "tsz", "v")
    texts = sorted((tuple(row[name] for name in columns) for row in kept.values()), key=repr)
    assert texts == desk.source(f"SELECT {', '.join(f'{name}::text' for name in columns)} FROM unholdable WHERE id < 7")

    desk.execute("UPDATE unholdable SET n = 2 WHERE id = 1")
    desk.reset("unholdable")
    assert desk.land()["unholdable"].rows.inserted == 1, "a mended row lands when it is read again"


@scenario(
    "T17",
    "A numeric(10,2) column becomes numeric without precision, which only a text can hold exactly, while its table is synced",
    holds="the table stops with both types and the cure in its error, and the copy stays as it was, rather than being rounded or turned into text silently",
    long=True,
)
def test_fidelity_never_changes_silently(stand: OpenStand) -> None:
    desk = stand(
        '- "public.amounts:id:integer!upsert"',
        "CREATE TABLE amounts (id int PRIMARY KEY, amount numeric(10,2))",
        "INSERT INTO amounts VALUES (1, 0.10)",
    )
    desk.land()
    desk.execute(
        "ALTER TABLE amounts ALTER amount TYPE numeric", "INSERT INTO amounts VALUES (2, 0.123456789012345678901)"
    )
    refused = desk.sync()["amounts"]

    assert refused.status is Status.FAILED
    assert "decimal(10,2)" in str(refused.error), refused.error
    assert "--full-refresh" in str(refused.error)
    assert desk.copy("amounts") == [(1, Decimal("0.1"))]


def _with_extension(desk: Stand, name: str, values: str) -> list[str]:
    """A table of that type, if this server has it."""
    known = {"xml": "SELECT 1 WHERE pg_input_is_valid('<a/>', 'xml')"}.get(
        name, f"SELECT 1 FROM pg_available_extensions WHERE name = '{name}'"
    )
    try:
        if not desk.source(known):
            return []
    except Exception:  # noqa: BLE001 - a server built without XML says so by an error of its own
        return []
    if name != "xml":
        desk.execute(f"CREATE EXTENSION {name}")
    desk.execute(
        f"CREATE TABLE of_{name} (id int GENERATED ALWAYS AS IDENTITY, v {name}, vs {name}[])",
        f"INSERT INTO of_{name} (v, vs) SELECT v::{name}, ARRAY[v::{name}, NULL] FROM unnest(ARRAY[{values}]) AS v",
        f"INSERT INTO of_{name} (v) VALUES (NULL)",
    )
    return [f"of_{name}"]


def _assert_equal_values(desk: Stand, spec: TableSpec) -> int:
    """Each column by itself, so that a difference is told by its name; how many values that are not NULL were compared."""
    frame = desk.spark.read.format("delta").load(str(desk.shop.lake(spec.id.name)))
    rows = frame.selectExpr(
        "id", *(UNREAD.get(each.spark_type, "{0}").format(each.name) for each in spec.columns)
    ).collect()
    copy = {
        row[0]: [_canonical(value, each) for value, each in zip(row[1:], spec.columns, strict=True)] for row in rows
    }
    query = f"SELECT id, {', '.join(_truth(each) for each in spec.columns)} FROM {spec.id.name}"
    truth = {row[0]: list(row[1:]) for row in desk.source(query)}
    assert copy.keys() == truth.keys()
    for place, each in enumerate(spec.columns):
        wrong = [(key, truth[key][place], copy[key][place]) for key in truth if copy[key][place] != truth[key][place]]
        assert not wrong, f"{spec.id.name}.{each.name} ({each.source_type}): {wrong[:3]}"
    return sum(value is not None for row in truth.values() for value in row)


def _truth(column: Column) -> str:
    """The source's value as text, whatever the driver thinks of its type."""
    name, kind = column.name, column.spark_type
    if column.source_type.startswith(("character(", "bpchar")):
        return f"textin(bpcharout({name}))"
    if kind.startswith("decimal"):
        return f"trim_scale({name})::text"
    return {
        "float": f"encode(float4send({name}), 'hex')",
        "double": f"encode(float8send({name}), 'hex')",
        "binary": f"encode({name}, 'hex')",
        "date": f"({name} - date '1970-01-01')::text",
        "timestamp": f"(extract(epoch FROM {name}) * 1000000)::numeric(30, 0)::text",
        "timestamp_ntz": f"(extract(epoch FROM {name}) * 1000000)::numeric(30, 0)::text",
    }.get(kind, f"{name}::text")


def _canonical(value: Any, column: Column) -> str | None:
    if value is None:
        return None
    if column.spark_type in ("float", "double"):
        return struct.pack(">f" if column.spark_type == "float" else ">d", value).hex()
    if isinstance(value, Decimal):
        digits = format(value, "f")
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return str(value).lower() if isinstance(value, bool) else str(value)
