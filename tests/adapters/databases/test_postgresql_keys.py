"""Keys of PostgreSQL that are no whole number: placed and summed up as the copy does it, read of few parts, looked for by their index."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.differences import gone
from incremental_assets.core.differences.gone import gone_keys
from incremental_assets.core.model.key_parts import KeyParts, KeySum
from incremental_assets.core.ports import SourceKeys
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.databases.contract import spec_of
from tests.adapters.databases.keys_contract import copied, keys_of
from tests.adapters.databases.test_postgresql import Server
from tests.spark_jobs import sql_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HASHES = KeyParts(0, 2**60 - 1)
# Columns, their names, all rows, and those that are deleted.
KINDS = {
    "a text": (
        'code text COLLATE "C"',
        "code",
        ("'a'", "'A'", "''", "'~'", "'1:a,b'", "'it''s ü😀'", "repeat('long ', 300)"),
        ("'A'", "'~'", "repeat('long ', 300)"),
    ),
    "a limited text": ("code varchar(9)", "code", ("'a'", "'a '", "'b'", "'c'"), ("'a '", "'c'")),
    "a text with blanks at its end": ("code char(3)", "code", ("'a'", "'b'", "'c'"), ("'b'",)),
    "a uuid": (
        "code uuid",
        "code",
        ("'00000000-0000-0000-0000-000000000000'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "gen_random_uuid()"),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",),
    ),
    "a number and a text": (
        "no int, code text",
        "no, code",
        ("1, 'a'", "1, 'b'", "2, 'a'", "-1, ''"),
        ("1, 'b'", "-1, ''"),
    ),
    "a day and a number": (
        "day date, no int",
        "no, day",
        ("'2024-02-29', 1", "'2024-02-29', 2", "'1969-12-31', 1", "'0001-01-01', 1"),
        ("1, '1969-12-31'", "1, '0001-01-01'"),
    ),
    "a moment and a large number": (
        "seen timestamptz, no bigint",
        "seen, no",
        ("'1969-12-31 23:59:59.999999+00', 9007199254740993", "'2024-01-01 00:00+00', -1", "'9999-12-31 00:00+00', 0"),
        ("'1969-12-31 23:59:59.999999+00', 9007199254740993",),
    ),
    "a number with digits": ("code numeric(20,4)", "code", ("0", "-1.5", "1.0001", "9999999999999999"), ("-1.5",)),
    "a short number and a flag": ("no smallint, flag boolean", "no, flag", ("-7, true", "-7, false"), ("-7, false",)),
    "names like code": (
        '"a""b; --" text, "%s {}" int',
        '"a""b; --", "%s {}"',
        ("'x', 1", "'x', 2", "'y', 1"),
        ("'x', 2",),
    ),
}


@pytest.fixture
def world(postgres: EmbeddedPostgres, database: str) -> Server:
    return Server(postgres, database)


def create(world: Server, columns: str, key: str, *statements: str) -> None:
    world.execute(
        f"CREATE TABLE parcels ({columns}, updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY ({key}))",
        *statements,
    )


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_place_keys_alike_by_either_hash_and_find_the_same_ones_gone(
    world: Server, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(gone, "FEW", 0)
    columns, key, rows, lost = KINDS[kind]
    create(world, columns, key, *(f"INSERT INTO parcels VALUES ({row})" for row in rows))
    spec = spec_of(world, "parcels")
    copy = copied(spark, tmp_path, world, spec)
    before = sql_statements(spark)
    by_bytes = copy.by_bytes()
    assert by_bytes is not None
    with keys_of(world, spec) as keys:
        there = keys.by_bytes()
        assert there is not None
        assert there.sums(HASHES, 0) == by_bytes.sums(HASHES, 0)
        assert keys.sums(HASHES, 0) == copy.sums(HASHES, 0)
        assert there.sums(HASHES, 0) != keys.sums(HASHES, 0)
        every = keys.texts(HASHES)
        assert len(every) == len(rows)
        assert there.texts(HASHES) == by_bytes.texts(HASHES) == every == keys.present(every)
        assert gone_keys(copy, keys) == frozenset()
    deleted = f"DELETE FROM parcels WHERE ({key}) IN ({', '.join(f'({row})' for row in lost)})"
    world.execute(deleted, "ANALYZE parcels")
    with keys_of(world, spec) as keys:
        found = gone_keys(copy, keys)
        assert keys.present(every) == keys.texts(HASHES) == every - found
    assert len(found) == copy.rows(found).num_rows == len(lost)
    assert sql_statements(spark) == before
    world.execute("ALTER FUNCTION pg_catalog.hash_record_extended RENAME TO gone")
    with keys_of(world, spec) as keys:
        assert keys.by_bytes() is None
        assert gone_keys(copy, keys) == found


@dataclass
class Counted:
    """The keys of a source, and the lines that it sends of them."""

    inner: SourceKeys
    lines: list[int] = field(default_factory=list)

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        found = self.inner.sums(within, shift)
        self.lines.append(len(found))
        return found

    def texts(self, within: KeyParts) -> frozenset[str]:
        return self._counted(self.inner.texts(within))

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        return self._counted(self.inner.present(texts))

    def by_bytes(self) -> SourceKeys | None:
        found = self.inner.by_bytes()
        return found and Counted(found, self.lines)  # type: ignore[return-value]

    def _counted(self, found: frozenset[str]) -> frozenset[str]:
        self.lines.append(len(found))
        return found


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("columns", "key", "values"),
    [
        ("code text", "code", "'order-' || md5(n::text)"),
        ("code uuid", "code", "md5(n::text)::uuid"),
        ("part int, code text", "part, code", "n % 7, 'order-' || n"),
        ("day date, no int", "day, no", "date '2020-01-01' + (n % 1000)::int, n"),
    ],
    ids=["text", "uuid", "number and text", "day and number"],
)
def test_forty_deletes_of_any_key_cost_less_than_two_reads_of_its_index_and_a_few_lines_beside_the_sums(
    world: Server, spark: SparkSession, tmp_path: Path, columns: str, key: str, values: str
) -> None:
    create(
        world,
        f"{columns}, n int, note text",
        key,
        f"INSERT INTO parcels SELECT {values}, n, repeat('note', 50) FROM generate_series(1, 40000) AS n",
        "VACUUM ANALYZE parcels",
    )
    spec = spec_of(world, "parcels")
    copy = copied(spark, tmp_path, world, spec)
    world.execute("DELETE FROM parcels WHERE n % 1000 = 7", "VACUUM ANALYZE parcels")
    world.forget_scans()
    with keys_of(world, spec) as keys:
        counted = Counted(keys)
        found = gone_keys(copy, counted)  # type: ignore[arg-type]
    assert len(found) == 40
    of_table, of_index = world.scanned("parcels")
    first, *second, last = counted.lines
    assert 1_000 < first <= 1_250
    # The parts of which two are gone, if there is one; and no key that seemed gone is there.
    assert (len(second) < 2, sum(second) < 10 * 32, last) == (True, True, 0)
    looks = 1 + len(second)
    assert (of_table, of_index) == (0, looks * (40_000 - 40))


def test_what_can_be_no_uuid_is_not_there(world: Server) -> None:
    create(world, "code uuid", "code", "INSERT INTO parcels VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')")
    there = "36:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    with keys_of(world, spec_of(world, "parcels")) as keys:
        assert keys.present(frozenset({there, "5:hello", "36:A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11"})) == {there}
        assert keys.present(frozenset({"5:hello"})) == frozenset()
