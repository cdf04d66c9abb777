"""T41: drift that no sync can see, found by a check and mended by a repair that reads little more than what drifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.ports import PlacedRows, Ports, Probe, Windowed
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.mart import REPAIR
from tests.conformance.points import Point
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
LINES = "CREATE TABLE lines (code text, no smallint, what text, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (code, no))"
VISITS = "CREATE TABLE visits (who text, what text, at timestamptz NOT NULL DEFAULT now())"
MANY = (
    "INSERT INTO orders SELECT n, 'first', '2024-01-01Z'::timestamptz + n * interval '1 min' FROM generate_series(1, 20000) n",
    "INSERT INTO lines SELECT md5((n / 10)::text), n % 10, 'first', '2024-01-01Z'::timestamptz + n * interval '1 min' FROM generate_series(1, 12000) n",
    "INSERT INTO visits SELECT 'guest ' || n % 7, 'first ' || n % 11, '2024-01-01Z'::timestamptz + n % 500 * interval '1 hour' FROM generate_series(1, 12000) n",
)
TABLES = """
- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, deletes: {mode: diff, every: 30d}}
- {table: public.lines, cursor: {column: at, type: timestamp}, strategy: upsert}
- {table: public.visits, cursor: {column: at, type: timestamp}}
"""
DRIFT = (
    "UPDATE orders SET note = 'changed behind the cursor''s back' WHERE id IN (7, 9000, 19999)",
    "INSERT INTO orders VALUES (20001, 'late', '2024-01-03Z')",
    "DELETE FROM orders WHERE id IN (100, 12345)",
    "UPDATE lines SET what = 'other' WHERE no = 3 AND code < '05'",
    "INSERT INTO visits VALUES ('guest 1', 'late', '2024-01-03Z'), ('guest 1', 'late', '2024-01-03Z')",
)


@scenario(
    "T41",
    "Of 20,000 rows by number three change under an old stamp, one is committed below the watermark and two are deleted; of 12,000 by a key of two "
    "columns some change likewise; of 12,000 without a key two come late. Each table is checked and repaired",
    holds="one commit each: the copies equal the source, what was mended, added and deleted is counted, the check after it finds nothing, the "
    "watermark stays, and a fifth of the rows at most has crossed the wire",
)
def test_drift_is_mended_by_reading_what_drifted(stand: OpenStand) -> None:
    desk = drifted(stand)
    other = len(desk.source("SELECT code FROM lines WHERE what = 'other'"))
    assert other > 10
    for name, expected in (
        ("orders", RowCounts(read=6, inserted=1, updated=3, deleted=2)),
        ("lines", RowCounts(read=other, updated=other)),
        ("visits", RowCounts(read=2, inserted=2)),
    ):
        assert desk.check(name) > 0
        before, versions, wire = desk.settled_at(name), len(desk.versions(name)), Wire()
        done = desk.repair(name, through=wire)
        assert done.report.rows == expected, name
        assert (len(desk.versions(name)), desk.settled_at(name)) == (versions + 1, before)
        assert 0 < wire.rows < 2_000, (name, wire.rows)
        desk.assert_equal(name)
        assert desk.verified(name).drift == 0
        assert desk.verified(name).through is not None
        assert desk.check(name) == 0
    desk.assert_tidy("orders", "lines", "visits")
    assert {name: report.status for name, report in desk.land().items()} == dict.fromkeys(
        ("orders", "lines", "visits"), Status.IDLE
    )


@scenario(
    "T41",
    "A row drifts, is found, and changes again with a new stamp before the repair; another is deleted after it was found",
    holds="the repair takes back nothing that is newer, and the next sync brings what has moved",
)
def test_what_moved_on_since_the_check_is_left_to_the_next_sync(stand: OpenStand) -> None:
    desk = drifted(stand)
    desk.check("orders")
    desk.execute(
        "UPDATE orders SET note = 'newer', updated_at = now() WHERE id = 7",
        "DELETE FROM orders WHERE id = 9000",
    )
    desk.repair("orders")
    desk.land("orders")
    desk.assert_equal("orders")


@scenario(
    "T41",
    "kill -9 of the whole process at nine points of a repair of rows that changed, came late and are gone",
    holds="the drift stays known until it is mended; one more repair and one more sync: the table equals the source, nothing is there twice, nothing is left over",
    long=True,
)
@pytest.mark.parametrize("point", Point, ids=str)
def test_a_killed_repair_is_made_good_by_the_next(stand: OpenStand, point: Point) -> None:
    desk = drifted(stand)
    assert desk.check("orders") > 0
    killed(desk, point, "orders", REPAIR)
    assert desk.verified("orders").drift > 0
    desk.repair("orders")
    assert desk.verified("orders").drift == 0
    desk.land("orders")
    desk.assert_equal("orders")
    desk.assert_tidy("orders")


def drifted(stand: OpenStand) -> Stand:
    desk = stand(TABLES, ORDERS, LINES, VISITS, *MANY)
    desk.land()
    desk.execute(*DRIFT)
    return desk


class Wire:
    """Counts what the source answers to a comparison: a line per part, and a line per row whose hash is read."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, ports: Ports) -> Ports:
        return replace(ports, probe=_Probe(ports.probe, self))


@dataclass(frozen=True)
class _Probe:
    inner: Probe
    wire: Wire

    @property
    def rows(self) -> _Probe:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[PlacedRows | None]:
        rows_of = self.inner.rows
        assert rows_of is not None
        with rows_of.placed_rows(spec, windows) as rows:
            yield rows and CountedRows(rows, self.wire)


@dataclass(frozen=True)
class CountedRows:
    """Rows of the source, as they are."""

    inner: PlacedRows
    wire: Wire

    def spread(self) -> KeySpread:
        return self.inner.spread()

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        found = self.inner.sums(within, shift)
        self.wire.rows += len(found)
        return found

    def windowed(self, within: KeyParts) -> Sequence[tuple[int, int, int]] | None:
        found = self.inner.windowed(within) if isinstance(self.inner, Windowed) else None
        self.wire.rows += len(found or ())
        return found

    def hashes(self, within: KeyParts) -> Sequence[tuple[int, int]]:
        found = self.inner.hashes(within)
        self.wire.rows += len(found)
        return found
