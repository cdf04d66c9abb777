"""T4: keys at the ends of 64 bits and rows that stand for none, beside a table's other keys."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.partition import window_of
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.preview.pending import Pending, located, partition_keys
from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.worlds import ALL, World

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def touched(desk: Stand[World], name: str) -> dict[str, Window]:
    """The partitions of a first sync, as the source shows them."""
    spec = desk.spec(name)
    assert spec.cursor is not None
    with desk.runtime() as runtime:
        grid, probe = terms_of(runtime.configuration.source("shop"), spec.id).partitions, runtime.ports("shop").probe
        (seen,) = probe.observe([ObserveRequest(spec, None)])
        (found,) = located([Pending(spec, Window(None, None), seen)], probe, lambda _: grid)
    assert grid is not None
    keys = partition_keys(grid, found, datetime.now(UTC))
    return {key: window_of(grid, key, spec.cursor.type) for key in keys}


@scenario(
    "T4",
    "A table has the rows 1 to 300, and beside them rows that stand for none, with the keys -1 and those at both ends of 64 bits; a partition holds a hundred values",
    holds="all land; the grid is laid over the 300, with an open first and an open last partition; every row has one of them, and each can be read again, checked and repaired",
)
@played_on(*ALL)
def test_keys_at_the_ends_of_64_bits(world: World, open_world: OpenWorld) -> None:
    how = "cursor: {column: id, type: integer}, partitions: {size: 100}"
    desk = open_world(
        f"- {{table: {{s}}.jobs, {how}, strategy: upsert}}\n- {{table: {{s}}.events, {how}, strategy: append}}",
        *(
            statement
            for name in ("jobs", "events")
            for statement in (
                f"CREATE TABLE {name} (id {world.words.numbered}, what varchar(9))",
                f"INSERT INTO {name} (what) SELECT 'some' FROM {world.many(300)}",
                *(f"INSERT INTO {name} (id, what) VALUES ({each}, 'none')" for each in (LOWEST, -1, HIGHEST)),
            )
        ),
    )
    first = desk.land()
    for name in ("jobs", "events"):
        partitions = touched(desk, name)
        desk.settled(name)
        again = [desk.land(name, mode=Mode.BACKFILL, window=window)[name] for window in partitions.values()]

        assert (first[name].rows.inserted, first[name].guarantee) == (303, "best_effort")
        assert "the last number of the type" in first[name].guarantee_reason
        assert next(iter(partitions)) == "below-m0000000000000000100"
        assert list(partitions)[-1] == "from-0000000000000000400"
        assert [report.rows.read for report in again] == [1, 1, 99, 100, 100, 1, 1]
        assert desk.check(name) == 0
        desk.assert_equal(name)
    desk.execute(f"UPDATE jobs SET what = 'other' WHERE id IN ({LOWEST}, -1, 7, {HIGHEST})")
    # A sequence tells up to where numbers are drawn: what lies above it is not settled, and each sync reads it again.
    above = int(world.title == "PostgreSQL")
    assert desk.check("jobs") == 4 - above
    repaired = desk.repair("jobs").report

    assert (repaired.rows.updated, repaired.error) == (4 - above, None)
    assert desk.land()["jobs"].rows.updated == above
    desk.assert_equal("jobs")


@scenario(
    "T4",
    "A row is given the number 1000000 while its sequence is at 2, which the user may see; then rows come that draw theirs, and the sequence is set right",
    holds="as long as it is there every run is `best_effort` and says where the sequence is, the watermark stays there, and the rows land; then it is settled",
)
@played_on("postgresql")
def test_a_row_brings_a_number_that_its_sequence_has_not_come_to(world: World, open_world: OpenWorld) -> None:
    how = "cursor: {column: id, type: integer}"
    desk = open_world(
        f"- {{table: {{s}}.jobs, {how}, strategy: upsert}}\n- {{table: {{s}}.events, {how}, strategy: append}}",
        *(
            statement
            for name in ("jobs", "events")
            for statement in (
                f"CREATE TABLE {name} (id {world.words.numbered}, what varchar(9))",
                f"INSERT INTO {name} (what) VALUES ('a'), ('b')",
                f"GRANT SELECT, USAGE ON SEQUENCE {name}_id_seq TO reader",
            )
        ),
    )
    desk.land()
    desk.execute(*(f"INSERT INTO {name} (id, what) VALUES (1000000, 'none')" for name in ("jobs", "events")))
    for name in ("jobs", "events"):
        desk.settled(name)
    desk.execute(*(f"INSERT INTO {name} (what) VALUES ('later')" for name in ("jobs", "events")))
    late = desk.land()
    for name in ("jobs", "events"):
        assert late[name].guarantee == "best_effort"
        assert f"the sequence public.{name}_id_seq is at 3" in late[name].guarantee_reason
        desk.assert_equal(name)
        desk.execute(f"SELECT setval('{name}_id_seq', 1000000)", f"INSERT INTO {name} (what) VALUES ('last')")
    assert {report.guarantee for report in desk.land().values()} == {"settled"}
    for name in ("jobs", "events"):
        desk.assert_equal(name)


IMPORTED = {
    "the user may not see the sequence": ("REVOKE SELECT ON SEQUENCE jobs_id_seq FROM reader",),
    "the sequence has drawn nothing": (),
    "the sequence begins behind it": ("SELECT setval('jobs_id_seq', 1001, false)",),
}


@scenario(
    "T4",
    f"A table is filled by an import that brings its numbers, up to 1000, and {', '.join(IMPORTED)}; then rows come that draw theirs",
    holds="without the sequence every run is `best_effort` and names the grant; where it stands below the rows that came they land, and the run says where it is; set right it is settled",
)
@played_on("postgresql")
@pytest.mark.parametrize("imported", IMPORTED)
def test_an_import_brings_numbers_that_no_sequence_has_drawn(
    world: World, open_world: OpenWorld, imported: str
) -> None:
    desk = open_world(
        "- {table: {s}.jobs, cursor: {column: id, type: integer}, strategy: append}",
        f"CREATE TABLE jobs (id {world.words.numbered}, what varchar(9))",
        "INSERT INTO jobs SELECT 10 * n, 'import' FROM generate_series(1, 100) AS n",
        *IMPORTED[imported],
    )
    said = [desk.land()["jobs"], desk.land()["jobs"]]
    desk.execute("INSERT INTO jobs (what) VALUES ('drawn')")
    said += [desk.land()["jobs"], desk.land()["jobs"]]
    promised = {report.guarantee for report in said}
    if imported == "the sequence begins behind it":
        assert promised == {"settled"}
    else:
        assert promised == {"best_effort"}
        named = (
            "GRANT SELECT ON SEQUENCE public.jobs_id_seq"
            if "see" in imported
            else "the sequence public.jobs_id_seq is at"
        )
        assert all(named in report.guarantee_reason for report in said)
    if "see" not in imported:
        desk.assert_equal("jobs")


@scenario(
    "T4",
    "Days of a cursor, and the moments of another, are those that stand for none, 0001-01-01 and 9999-12-31, beside others of three years; partitions are months from 2024 on",
    holds="all land; the months end with this one, and each can be read again; a check finds a change in every settled row, those below the first month too, and the repair mends it; "
    "what lies above the clock every sync reads",
)
@played_on(*ALL)
def test_days_that_stand_for_none(world: World, open_world: OpenWorld) -> None:
    days = ("2024-01-05", "2024-02-29", "2026-01-01", "0001-01-01", "9999-12-31")
    how = "strategy: upsert, partitions: {every: month, from: 2024-01-01}"
    desk = open_world(
        f"- {{table: {{s}}.stays, cursor: {{column: at, type: date}}, {how}}}\n- {{table: {{s}}.calls, cursor: {{column: at, type: datetime}}, {how}}}",
        "CREATE TABLE stays (id bigint NOT NULL PRIMARY KEY, what varchar(9), at date)",
        f"CREATE TABLE calls (id bigint NOT NULL PRIMARY KEY, what varchar(9), at {'timestamp' if world.title in ('PostgreSQL', 'SQLite') else 'datetime'})",
        *(
            f"INSERT INTO {name} VALUES ({n}, 'some', '{day}{hour}')"
            for name, hour in (("stays", ""), ("calls", " 00:00:00"))
            for n, day in enumerate(days)
        ),
    )
    first = desk.land()
    for name in ("stays", "calls"):
        partitions = touched(desk, name)
        again = [desk.land(name, mode=Mode.BACKFILL, window=partitions[f"2024-0{n}-01"])[name] for n in (1, 2, 3)]

        assert (first[name].rows.inserted, first[name].rows.quarantined) == (5, 0)
        assert (next(iter(partitions)), list(partitions)[-1]) == ("2024-01-01", f"{datetime.now(UTC):%Y-%m}-01")
        assert [report.rows.read for report in again] == [1, 1, 0]
        assert desk.check(name) == 0
        desk.assert_equal(name)
        desk.execute(f"UPDATE {name} SET what = 'other'")
        assert desk.check(name) == 4
        repaired = desk.repair(name).report
        assert (repaired.rows.updated, repaired.error) == (4, None)
        assert desk.check(name) == 0
        assert desk.land(name)[name].rows.updated == 1
        desk.assert_equal(name)
