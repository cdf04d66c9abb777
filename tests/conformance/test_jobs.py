"""Spark jobs of a tick do not depend on how many tables have changed."""

from __future__ import annotations

import pytest

from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.spark_jobs import jobs

STRATEGIES = ("upsert", "append", "full_refresh")
FAILING = "- {table: public.failing, strategy: full_refresh, refresh_every: 0s}\n"


@pytest.mark.parametrize("tables", [6, pytest.param(50, marks=pytest.mark.acceptance)])
def test_a_tick_of_all_tables_is_one_job_that_reads_and_one_that_writes_and_who_fails_in_one_is_alone(
    stand: OpenStand, tables: int
) -> None:
    lines, statements = FAILING, ["CREATE TABLE divisors (id int PRIMARY KEY, n int)"]
    for number in range(tables - 1):
        how = STRATEGIES[number % 3]
        cursor = "refresh_every: 0s" if how == "full_refresh" else "cursor: {column: at, type: timestamp}"
        lines += f"- {{table: public.t{number}, {cursor}, strategy: {how}}}\n"
        statements += [
            f"CREATE TABLE t{number} (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO t{number} SELECT generate_series(1, 20)",
        ]
    # Rows can be counted where they cannot be read.
    view = "CREATE VIEW failing AS SELECT id, 100 / n AS share FROM divisors"
    desk = stand(lines, *statements, "INSERT INTO divisors VALUES (1, 5)", view)
    desk.land()
    desk.execute(
        "INSERT INTO divisors VALUES (2, 0)", *(f"INSERT INTO t{each} VALUES (21)" for each in range(tables - 1))
    )
    before = jobs(desk.spark)
    reports = desk.sync()

    assert jobs(desk.spark) - before == 2
    failed = reports.pop("failing")
    assert (failed.status, "division by zero" in str(failed.error)) == (Status.FAILED, True)
    assert {report.status for report in reports.values()} == {Status.LANDED}
    for name in ("t0", "t1", "t2"):
        desk.assert_equal(name)
    assert len(desk.copy("failing")) == 1
