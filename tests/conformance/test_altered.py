"""T16: a table's definition changes so that rows show something else under the stamps that they have."""

from __future__ import annotations

import pytest

from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand, OpenWorld
from tests.conformance.killing import killed
from tests.conformance.points import Point
from tests.conformance.scenario import played_on, scenario
from tests.conformance.worlds import ALL, World
from tests.waiting import until

RECREATED = {
    "postgresql": ("ALTER TYPE {t}_kind RENAME VALUE 'a' TO 'z'",),
    "mariadb": ("ALTER TABLE {t} DROP COLUMN kind, ADD COLUMN kind varchar(9) DEFAULT 'z'",),
    "mysql": ("ALTER TABLE {t} DROP COLUMN kind, ADD COLUMN kind varchar(9) DEFAULT 'z'",),
    "sqlite": ("ALTER TABLE {t} DROP COLUMN kind", "ALTER TABLE {t} ADD COLUMN kind varchar(9) DEFAULT 'z'"),
}
"""What makes every row show 'z' where it showed 'a', by the name of the database."""


def kinds(world: World, *tables: str) -> tuple[str, ...]:
    """The types that the tables are made with."""
    return tuple(f"CREATE TYPE {name}_kind AS ENUM ('a')" for name in tables) if world.title == "PostgreSQL" else ()


def made(world: World, name: str) -> tuple[str, ...]:
    """One of the tables, which the database stamps at inserts and updates."""
    kind = f"{name.removesuffix('_new')}_kind" if world.title == "PostgreSQL" else "varchar(9)"
    return (
        f"CREATE TABLE {name} (id integer PRIMARY KEY, v int, at {world.words.stamp}, kind {kind} DEFAULT 'a')",
        *world.touching(name, "at"),
    )


def filled(world: World, name: str) -> str:
    """Three rows."""
    return f"INSERT INTO {name} (id, v) SELECT n, n FROM {world.many(3)}"


@scenario(
    "T16",
    "Under their stamps rows show something else: an enum's label is renamed or a column dropped and added again with a default, a table is emptied and filled again, "
    "another table takes its name; of upserts and of an append",
    holds="the next sync says that the table was altered, and is `settled` unless what stamps its rows was made anew, too; the copy equals the source, an append has what "
    "its rows show now beside what they showed; the sync after it reads nothing",
)
@played_on(*ALL)
def test_tables_are_altered_without_a_stamp(world: World, open_world: OpenWorld) -> None:
    names = ("labels", "versions", "refilled", "swapped")
    desk = open_world(
        '- "{s}.labels:at:{c}!upsert"\n- "{s}.versions:at:{c}!append"\n- "{s}.refilled:at:{c}!upsert"\n- "{s}.swapped:at:{c}!upsert"',
        *kinds(world, *names),
        *(statement for name in names for statement in (*made(world, name), filled(world, name))),
    )
    desk.land()
    rename = RECREATED[world.title.lower()]
    empty = "DELETE FROM refilled" if world.title == "SQLite" else "TRUNCATE TABLE refilled"
    desk.execute(
        *(each.replace("{t}", name) for name in ("labels", "versions") for each in rename),
        "CREATE TABLE spare AS SELECT * FROM refilled",
        *(("DROP TABLE refilled", *made(world, "refilled")) if world.title == "SQLite" else (empty,)),
        "INSERT INTO refilled (id, v, at) SELECT id, v * 10, at FROM spare",
        made(world, "swapped_new")[0],
        world.touching("swapped_new", "at")[-1],
        "INSERT INTO swapped_new (id, v, at) SELECT id, v + 100, at FROM swapped",
        "ALTER TABLE swapped RENAME TO swapped_old",
        "ALTER TABLE swapped_new RENAME TO swapped",
    )
    reports = desk.land()

    # A trigger that is made anew with its table may have left rows of open transactions with other stamps; SQLite numbers its schema as a whole.
    anew = names if world.title == "SQLite" else ("swapped",) if world.title == "PostgreSQL" else ()
    promised = {name: Guarantee.BEST_EFFORT if name in anew else Guarantee.SETTLED for name in names}
    assert {name: report.guarantee for name, report in reports.items()} == promised
    assert all("was altered since the last sync" in reports[name].guarantee_reason for name in anew)
    assert all("was altered in the source" in " ".join(report.warnings) for report in reports.values())
    for name in ("labels", "refilled", "swapped"):
        desk.assert_equal(name)
    assert desk.copy("versions", "id", "kind") == [(n, kind) for n in (1, 2, 3) for kind in ("a", "z")]
    assert {name: report.rows.read for name, report in desk.land().items()} == dict.fromkeys(names, 0)


@scenario(
    "T16",
    "An index comes, statistics and comments are made anew, an enum gets a label, a text becomes longer, a column without values and a partition are added; "
    "a table is written anew (CLUSTER)",
    holds="nothing is compared, but for the table that was written anew, once, of which nothing is read",
)
def test_what_alters_no_row_is_not_compared(stand: OpenStand) -> None:
    desk = stand(
        '- "public.orders:at:timestamp!upsert"\n- "public.parts:at:timestamp!upsert"\n- "public.full:at:timestamp!upsert"',
        "CREATE TYPE kind AS ENUM ('a', 'b')",
        "CREATE TABLE orders (id int PRIMARY KEY, k kind, w varchar(9), at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO orders VALUES (1, 'a', 'x'), (2, 'b', 'y')",
        "CREATE TABLE parts (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (id)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
        "INSERT INTO parts VALUES (1), (2)",
        'CREATE TABLE "full" (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())',
        'INSERT INTO "full" VALUES (1), (2)',
    )
    desk.land()
    desk.execute(
        "CREATE INDEX ON orders (w)",
        "ANALYZE orders",
        "COMMENT ON TABLE orders IS 'of the shop'",
        "ALTER TYPE kind ADD VALUE 'c' BEFORE 'b'",
        "ALTER TABLE orders ALTER COLUMN w TYPE varchar(20)",
        "ALTER TABLE orders ADD COLUMN more int",
        "CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20)",
        'CLUSTER "full" USING full_pkey',
    )
    reports = desk.land()

    told = {name: "was altered in the source" in " ".join(report.warnings) for name, report in reports.items()}
    assert told == {"orders": False, "parts": False, "full": True}
    assert reports["full"].rows.read == 0
    assert {report.status for report in desk.land().values()} == {Status.IDLE}


@scenario(
    "T16",
    "kill -9 of the whole process while what differs after an alteration is read, before its commit and after it",
    holds="the next sync brings the copy to what the source shows; nothing is left over",
    long=True,
)
@pytest.mark.parametrize("point", [Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT], ids=str)
def test_a_killed_comparison_is_made_good_by_the_next_sync(stand: OpenStand, point: Point) -> None:
    desk = stand(
        '- "public.orders:at:timestamp!upsert"',
        "CREATE TYPE kind AS ENUM ('a', 'b')",
        "CREATE TABLE orders (id int PRIMARY KEY, k kind, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO orders VALUES (1, 'a'), (2, 'b')",
    )
    desk.land()
    desk.execute("ALTER TYPE kind RENAME VALUE 'a' TO 'z'")
    killed(desk, point, "orders", "incremental")

    desk.land()
    desk.assert_equal("orders")
    desk.assert_tidy("orders")
    assert desk.land()["orders"].status is Status.IDLE


MORE_THAN_ITS_ROW = {
    "postgresql": (
        ("CREATE TABLE watched (n int)",),
        "regclass DEFAULT 'watched'",
        "ALTER TABLE watched RENAME TO observed",
    ),
    "mariadb": ((), "int AS (@@max_connect_errors) VIRTUAL", "SET GLOBAL max_connect_errors = 4711"),
}
"""Of each database: what has to be there first, a column whose values the row alone does not decide, and what makes it show something else."""


@scenario(
    "T16",
    "A column shows more than its row: the name of a table that is renamed (`regclass`), what a column is computed from when it is read; of an upsert, a table that is read whole and one "
    "that is compared",
    holds="the run that follows stamps says so of the column and is `best_effort`, and `check` finds its row; the others are `settled` and equal the source",
)
@played_on("postgresql", "mariadb")
def test_what_a_column_shows_is_decided_elsewhere(world: World, open_world: OpenWorld) -> None:
    first, kind, then = MORE_THAN_ITS_ROW[world.title.lower()]
    names = ("followed", "whole", "compared")
    desk = open_world(
        '- "{s}.followed:at:{c}!upsert"\n- {table: "{s}.whole", strategy: full_refresh, refresh_every: 0s}\n- {table: "{s}.compared", strategy: upsert, compare: {every: 0s}}',
        *first,
        *(
            statement
            for name in names
            for statement in (
                f"CREATE TABLE {name} (id integer PRIMARY KEY, at {world.words.stamp}, shown {kind})",
                *world.touching(name, "at"),
                f"INSERT INTO {name} (id, at) VALUES (1, {world.words.at('2024-01-01 00:00:00')})",
            )
        ),
    )
    first_load = desk.land()
    # A table that was made within a second before a look is compared once more.
    until(lambda: desk.land("followed")["followed"].status is Status.IDLE)
    desk.execute(then)
    reports = desk.land()

    promised = {"followed": Guarantee.BEST_EFFORT, "whole": Guarantee.SETTLED, "compared": Guarantee.SETTLED}
    assert {name: report.guarantee for name, report in first_load.items()} == promised
    assert {name: report.guarantee for name, report in reports.items()} == promised
    assert reports["followed"].guarantee_reason.startswith("what 'shown' shows does not depend on its row alone")
    assert {name: desk.check(name) for name in names} == {"followed": 1, "whole": 0, "compared": 0}
