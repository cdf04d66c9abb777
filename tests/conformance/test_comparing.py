"""T46: tables without a cursor, whose rows are compared with the copy: what differs is read, whatever the rows say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

import pytest

from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.ports import Ports, Seek, Snapshot, Source
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.points import Point, at_points, once
from tests.conformance.scenario import scenario
from tests.conformance.test_repair import CountedRows, Wire

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT '2024-01-01Z')"
LINES = "CREATE TABLE lines (code text, no smallint, what text, PRIMARY KEY (code, no))"
MANY = (
    "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 50000) n",
    "INSERT INTO lines SELECT md5((n / 10)::text), n % 10, 'first' FROM generate_series(1, 12000) n",
)
SOME = "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 6000) n"
ODD = """
CREATE TABLE odd (
    id bigint PRIMARY KEY, money numeric(12,2), free numeric, real float8, small float4, day date, moment timestamptz, local timestamp,
    clock time, text text, bytes bytea, flag boolean, one uuid, doc jsonb, list int[], span interval)
"""
ODD_ROWS = (
    "INSERT INTO odd (id) VALUES (1)",
    (
        "INSERT INTO odd VALUES (2, 1.10, 1.100, 'NaN', 'Infinity', '0001-01-01', '2024-03-31 01:30Z', '2024-03-31 02:30', '23:59:59.999999', '', '', true, "
        "'00000000-0000-0000-0000-000000000000', '{}', '{}', '1 mon')"
    ),
    (
        "INSERT INTO odd VALUES (3, -1.10, 1e30, '-0', '-Infinity', '9999-12-31', '1969-12-31 23:59:59.999999Z', '1583-01-01', '00:00', '~', '\\x00ff', false, "
        "'ffffffff-ffff-ffff-ffff-ffffffffffff', '[1, null]', '{1,NULL}', '-1 day')"
    ),
    "INSERT INTO odd VALUES (4, 0, 0, 0.1, 0.1, NULL, NULL, NULL, NULL, E'a,b\\n\"ü€', NULL, NULL, NULL, '\"a\"', NULL, NULL)",
)
EACH = """
- {table: public.orders, strategy: upsert, compare: {every: 0s}}
- {table: public.lines, strategy: upsert, compare: {every: 0s}}
"""
CHANGES = (
    "UPDATE orders SET note = 'second' WHERE id % 100 = 7",
    "INSERT INTO orders VALUES (50001, 'new'), (-5, 'below')",
    "DELETE FROM orders WHERE id IN (1, 25000, 50000)",
    "UPDATE orders SET id = 60000 WHERE id = 500",
    "UPDATE lines SET what = NULL WHERE no = 3 AND code < '05'",
    "DELETE FROM lines WHERE no = 4 AND code < '02'",
    "UPDATE lines SET no = 20 WHERE no = 5 AND code < '01'",
)


@scenario(
    "T46",
    "Of 50,000 rows by number 500 change under an old stamp, two come, three are deleted and one gets another key; of 12,000 by a key of two columns "
    "some dozens likewise; then nothing happens",
    holds="one commit each: the copies equal the source, and only the rows that differ are read, for which the source gives fewer hashes than it has rows; "
    "where nothing differs nothing is read nor committed",
)
def test_what_differs_is_found_and_read_alone(stand: OpenStand) -> None:
    desk = stand(EACH, ORDERS, LINES, *MANY)
    desk.land()
    versions = {name: len(desk.versions(name)) for name in ("orders", "lines")}
    desk.execute(*CHANGES)
    wires = {name: Wire() for name in versions}
    reports = {name: desk.land(name, through=_counted(wires[name]))[name] for name in versions}
    assert reports["orders"].rows == RowCounts(read=507, inserted=3, updated=500, deleted=4)
    assert (reports["orders"].guarantee, reports["orders"].status) == ("settled", Status.LANDED)
    for name, before in versions.items():
        desk.assert_equal(name)
        assert len(desk.versions(name)) == before + 1
    # Changes that are spread evenly are the worst case: 33,307 lines of a number, a count and a hash, for 503 rows that are read.
    assert wires["orders"].rows < 40_000
    desk.assert_tidy("orders", "lines")
    assert {name: report.rows for name, report in desk.land().items()} == dict.fromkeys(versions, RowCounts())
    assert {name: len(desk.versions(name)) - before for name, before in versions.items()} == dict.fromkeys(versions, 1)


@scenario(
    "T46",
    "Rows with NULL, NaN, infinities, days before Christ's year 1 and after our calendar, empty and strange texts, arrays and documents; they are compared as "
    "they are, then one value of each is changed to one that looks alike, and one row to what cannot land",
    holds="no row seems to differ that does not; those that were changed land, what cannot land leaves for quarantine",
)
def test_rows_of_odd_types_differ_where_they_differ(stand: OpenStand) -> None:
    desk = stand("- {table: public.odd, strategy: upsert, compare: {every: 0s}}", ODD, *ODD_ROWS)
    desk.land()
    versions = desk.versions("odd")
    assert desk.land()["odd"].rows == RowCounts()
    assert desk.versions("odd") == versions
    desk.execute(
        "UPDATE odd SET text = NULL WHERE id = 2",
        "UPDATE odd SET real = '0' WHERE id = 3",
        "UPDATE odd SET doc = 'null' WHERE id = 1",
        "UPDATE odd SET day = 'infinity' WHERE id = 4",
        "INSERT INTO odd (id, moment) VALUES (5, '-infinity')",
    )
    assert desk.land()["odd"].rows == RowCounts(read=5, updated=3, deleted=1, quarantined=2)
    assert desk.copy("odd", "id", "text", "doc") == [(1, None, "null"), (2, None, "{}"), (3, "~", "[1, null]")]
    assert sorted(row["id"] for row in desk.quarantined("odd")) == ["4", "5"]


@scenario(
    "T46",
    "While what differs is read, other rows are committed: one changes, one comes, one goes",
    holds="the copy is the snapshot that was compared, and the next comparison brings what was committed",
)
def test_what_is_read_is_what_was_compared(stand: OpenStand) -> None:
    desk = stand("- {table: public.orders, strategy: upsert, compare: {every: 0s}}", ORDERS, SOME)
    desk.land()
    desk.execute("UPDATE orders SET note = 'second' WHERE id IN (7, 8, 9)")
    truth = desk.source("SELECT * FROM orders")

    def meanwhile() -> None:
        desk.execute(
            "UPDATE orders SET note = 'third' WHERE id IN (8, 3000)",
            "DELETE FROM orders WHERE id = 9",
            "INSERT INTO orders VALUES (70000, 'new')",
        )

    desk.land(through=lambda ports: at_points(ports, once(Point.READING, "orders", meanwhile)))
    assert desk.copy("orders") == truth
    desk.land()
    desk.assert_equal("orders")


@scenario(
    "T46",
    "A third of the rows is deleted; the table is emptied",
    holds="each is refused with the number and what to type, and nothing lands; what was typed then takes them out",
)
@pytest.mark.parametrize("harm", ["DELETE FROM orders WHERE id % 3 = 0", "DELETE FROM orders"], ids=["a third", "all"])
def test_a_breaker_asks_a_person(stand: OpenStand, harm: str) -> None:
    desk = stand("- {table: public.orders, strategy: upsert, compare: {every: 0s}}", ORDERS, SOME)
    desk.land()
    versions = desk.versions("orders")
    desk.execute(harm)
    refused = desk.sync()["orders"]
    assert (refused.status, desk.versions("orders")) == (Status.REFUSED, versions)
    assert "sync --select shop.public.orders --allow-shrink --yes" in (refused.error or "")
    desk.land(allow_shrink=True)
    desk.assert_equal("orders")


@scenario(
    "T46",
    "kill -9 of the whole process at nine points of a comparison of rows that changed, came and are gone",
    holds="one more sync: the table equals the source, nothing is there twice, nothing is left over",
    long=True,
)
@pytest.mark.parametrize("point", Point, ids=str)
def test_a_killed_comparison_is_made_good_by_the_next(stand: OpenStand, point: Point) -> None:
    desk = stand(EACH, ORDERS, LINES, *MANY)
    desk.land()
    desk.execute(*CHANGES)
    killed(desk, point, "orders", "incremental")
    desk.land()
    for name in ("orders", "lines"):
        desk.assert_equal(name)
    desk.assert_tidy("orders", "lines")


def _counted(wire: Wire) -> Callable[[Ports], Ports]:
    def through(ports: Ports) -> Ports:
        source: Source = _Source(ports.source, wire)
        return replace(ports, source=source)

    return through


@dataclass(frozen=True)
class _Source:
    inner: Source
    wire: Wire

    @property
    def differing(self) -> _Source:
        return self

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Snapshot]:
        return self.inner.snapshot(plan)

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[Snapshot]:
        differing = self.inner.differing
        assert differing is not None
        with differing.compared(plan, lambda rows: seek(CountedRows(rows, self.wire))) as snapshot:
            yield snapshot
