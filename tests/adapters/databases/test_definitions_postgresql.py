"""Every change of a table's definition that was looked at in PostgreSQL; docs/guarantee.md has the list in words."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.preflight import check_same_columns
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.databases import test_postgresql
from tests.adapters.databases.contract import decided, spec_of, synced
from tests.adapters.databases.definition_contract import Change, outcomes, wanted

STAMP = "updated_at timestamptz NOT NULL DEFAULT now()"
PLAIN = (
    f"CREATE TABLE {{t}} (id int PRIMARY KEY, v int, w varchar(10), {STAMP})",
    "INSERT INTO {t} SELECT n, n, 'w' FROM generate_series(1, 3) AS n",
)
PARTED = (
    f"CREATE TABLE {{t}} (id int, v int, {STAMP}, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
    "CREATE TABLE {t}_1 PARTITION OF {t} FOR VALUES FROM (0) TO (10)",
    "INSERT INTO {t} SELECT n, n FROM generate_series(1, 3) AS n",
)
AGAIN = "CREATE TABLE {t}_new AS SELECT id, CASE id WHEN 2 THEN 20 ELSE v END AS v, w, updated_at FROM {t}"
POSTGRESQL = [
    Change(
        "a label of an enum is renamed",
        (
            "CREATE TYPE {t}_e AS ENUM ('a', 'b')",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, e {{t}}_e, {STAMP})",
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
        ),
        ("ALTER TYPE {t}_e RENAME VALUE 'a' TO 'z'",),
        1,
    ),
    Change(
        "a label in an array of a domain of an enum is renamed",
        (
            "CREATE TYPE {t}_e AS ENUM ('a', 'b')",
            "CREATE DOMAIN {t}_d AS {t}_e",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, e {{t}}_d[], {STAMP})",
            "INSERT INTO {t} VALUES (1, '{a}'), (2, '{b}')",
        ),
        ("ALTER TYPE {t}_e RENAME VALUE 'a' TO 'z'",),
        1,
    ),
    Change(
        "an enum gets a label",
        (
            "CREATE TYPE {t}_e AS ENUM ('a', 'c')",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, e {{t}}_e, {STAMP})",
            "INSERT INTO {t} VALUES (1, 'a')",
        ),
        ("ALTER TYPE {t}_e ADD VALUE 'b' BEFORE 'c'",),
    ),
    Change(
        "a composite type gets an attribute",
        (
            "CREATE TYPE {t}_c AS (a int)",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, c {{t}}_c, {STAMP})",
            "INSERT INTO {t} VALUES (1, ROW(1)), (2, NULL)",
        ),
        ("ALTER TYPE {t}_c ADD ATTRIBUTE b int",),
        1,
    ),
    Change(
        "a column is computed anew under its own type",
        PLAIN,
        ("ALTER TABLE {t} ALTER COLUMN v TYPE int USING v * 2",),
        3,
    ),
    Change(
        "the table is emptied and filled again under old stamps",
        PLAIN,
        (AGAIN, "TRUNCATE {t}", "INSERT INTO {t} SELECT * FROM {t}_new"),
        1,
    ),
    Change(
        "the table is made anew under old stamps",
        PLAIN,
        (AGAIN, "DROP TABLE {t}", PLAIN[0], "INSERT INTO {t} SELECT * FROM {t}_new"),
        1,
    ),
    Change(
        "two tables exchange their names",
        PLAIN,
        (
            AGAIN,
            "ALTER TABLE {t}_new ADD PRIMARY KEY (id), ALTER updated_at SET NOT NULL, ALTER updated_at SET DEFAULT now()",
            "ALTER TABLE {t} RENAME TO {t}_old",
            "ALTER TABLE {t}_new RENAME TO {t}",
        ),
        1,
    ),
    Change(
        "a partition is taken out, filled again and put back",
        PARTED,
        (
            "ALTER TABLE {t} DETACH PARTITION {t}_1",
            "CREATE TABLE {t}_x AS SELECT id, v + 1 AS v, updated_at FROM {t}_1",
            "TRUNCATE {t}_1",
            "INSERT INTO {t}_1 SELECT * FROM {t}_x",
            "ALTER TABLE {t} ATTACH PARTITION {t}_1 FOR VALUES FROM (0) TO (10)",
        ),
        3,
    ),
    Change("a partition is added", PARTED, ("CREATE TABLE {t}_2 PARTITION OF {t} FOR VALUES FROM (10) TO (20)",)),
    Change(
        "an expression that is computed when it is read",
        (
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, v int, g int GENERATED ALWAYS AS (v + 1) VIRTUAL, {STAMP})",
            "INSERT INTO {t} VALUES (1, 1), (2, NULL)",
        ),
        ("ALTER TABLE {t} ALTER COLUMN g SET EXPRESSION AS (v + 2)",),
        1,
    ),
    Change(
        "an expression that is stored",
        (
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, v int, g int GENERATED ALWAYS AS (v + 1) STORED, {STAMP})",
            "INSERT INTO {t} VALUES (1, 1), (2, NULL)",
        ),
        ("ALTER TABLE {t} ALTER COLUMN g SET EXPRESSION AS (v + 2)",),
        1,
    ),
    Change(
        "a view is replaced",
        (
            PLAIN[0].replace("{t}", "{t}_of"),
            PLAIN[1].replace("{t}", "{t}_of"),
            "CREATE VIEW {t} AS SELECT id, v, updated_at FROM {t}_of",
        ),
        ("CREATE OR REPLACE VIEW {t} AS SELECT id, v + (id / 3) AS v, updated_at FROM {t}_of",),
        1,
    ),
    Change(
        "a function below a view of a view is replaced",
        (
            PLAIN[0].replace("{t}", "{t}_of"),
            PLAIN[1].replace("{t}", "{t}_of"),
            "CREATE FUNCTION {t}_f(v int) RETURNS int LANGUAGE sql AS 'SELECT v'",
            "CREATE VIEW {t}_inner AS SELECT id, {t}_f(v) AS v, updated_at FROM {t}_of",
            "CREATE VIEW {t} AS SELECT * FROM {t}_inner",
        ),
        ("CREATE OR REPLACE FUNCTION {t}_f(v int) RETURNS int LANGUAGE sql AS 'SELECT v + 1'",),
        3,
    ),
    Change(
        "a sequence begins again, and rows come under numbers that had been read",
        (f"CREATE TABLE {{t}} (id serial PRIMARY KEY, v int, {STAMP})", "INSERT INTO {t} (v) VALUES (1), (2), (3)"),
        (
            "CREATE TABLE {t}_old AS SELECT * FROM {t}",
            "DELETE FROM {t}",
            "ALTER SEQUENCE {t}_id_seq RESTART",
            "INSERT INTO {t} (v, updated_at) SELECT v * 2, updated_at FROM {t}_old ORDER BY id",
        ),
        3,
    ),
    Change(
        "two labels exchange their names",
        (
            "CREATE TYPE {t}_e AS ENUM ('a', 'b')",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, e {{t}}_e, {STAMP})",
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
        ),
        (
            "ALTER TYPE {t}_e RENAME VALUE 'a' TO 'x'",
            "ALTER TYPE {t}_e RENAME VALUE 'b' TO 'a'",
            "ALTER TYPE {t}_e RENAME VALUE 'x' TO 'b'",
        ),
        2,
    ),
    Change(
        "a label within a range, and within a domain of a composite type, is renamed",
        (
            "CREATE TYPE {t}_e AS ENUM ('a', 'b', 'c')",
            "CREATE TYPE {t}_r AS RANGE (subtype = {t}_e)",
            "CREATE TYPE {t}_p AS (k {t}_e[])",
            "CREATE DOMAIN {t}_d AS {t}_p",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, r {{t}}_r[], d {{t}}_d, {STAMP})",
            "INSERT INTO {t} VALUES (1, '{\"[a,b]\"}', NULL), (2, NULL, ROW('{a}')), (3, NULL, NULL)",
        ),
        ("ALTER TYPE {t}_e RENAME VALUE 'a' TO 'z'",),
        2,
    ),
    Change(
        "the type of a row of another table, which is a column, gets an attribute",
        (
            "CREATE TABLE {t}_of (a int)",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, c {{t}}_of, {STAMP})",
            "INSERT INTO {t} VALUES (1, ROW(1)), (2, NULL)",
        ),
        ("ALTER TABLE {t}_of ADD COLUMN b int",),
        1,
    ),
    Change(
        "an attribute, a type, a domain have other names, and a domain other constraints",
        (
            "CREATE TYPE {t}_c AS (a int)",
            "CREATE DOMAIN {t}_d AS int",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, c {{t}}_c, d {{t}}_d, {STAMP})",
            "INSERT INTO {t} VALUES (1, ROW(1), 1)",
        ),
        (
            "ALTER TYPE {t}_c RENAME ATTRIBUTE a TO z",
            "ALTER DOMAIN {t}_d ADD CHECK (VALUE < 9)",
            "ALTER DOMAIN {t}_d SET DEFAULT 7",
        ),
    ),
    Change(
        "the function of a stored column is another one",
        (
            "CREATE FUNCTION {t}_f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 1'",
            f"CREATE TABLE {{t}} (id int PRIMARY KEY, v int, g int GENERATED ALWAYS AS ({{t}}_f(v)) STORED, {STAMP})",
            "INSERT INTO {t} VALUES (1, 1)",
        ),
        ("CREATE OR REPLACE FUNCTION {t}_f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 2'",),
    ),
    Change(
        "the table goes to another schema and a view takes its name",
        PLAIN,
        (
            "CREATE SCHEMA {t}_s",
            "ALTER TABLE {t} SET SCHEMA {t}_s",
            "CREATE VIEW {t} AS SELECT id, v + id / 3 AS v, w, updated_at FROM {t}_s.{t}",
        ),
        1,
    ),
    Change(
        "the table is not logged for a while", PLAIN, ("ALTER TABLE {t} SET UNLOGGED", "ALTER TABLE {t} SET LOGGED"), 0
    ),
    Change("a text is padded", PLAIN, ("ALTER TABLE {t} ALTER COLUMN w TYPE char(10)",), 3),
    Change("a text has another collation", PLAIN, ('ALTER TABLE {t} ALTER COLUMN w TYPE varchar(10) COLLATE "C"',)),
    Change("the files are written anew (VACUUM FULL)", PLAIN, ("VACUUM FULL {t}",), 0),
    Change("the files are written anew (CLUSTER)", PLAIN, ("CLUSTER {t} USING {t}_pkey",), 0),
    Change(
        "an index comes and goes", PLAIN, ("CREATE INDEX {t}_i ON {t} (v)", "DROP INDEX {t}_i", "REINDEX TABLE {t}")
    ),
    Change(
        "statistics, comment, vacuum",
        PLAIN,
        (
            "ANALYZE {t}",
            "COMMENT ON TABLE {t} IS 'x'",
            "COMMENT ON COLUMN {t}.v IS 'x'",
            "VACUUM {t}",
            "VACUUM FREEZE {t}",
        ),
    ),
    Change("a column without values is added", PLAIN, ("ALTER TABLE {t} ADD COLUMN more text",)),
    Change("a column is added with a default", PLAIN, ("ALTER TABLE {t} ADD COLUMN more int DEFAULT 7",)),
    Change("a column is dropped", PLAIN, ("ALTER TABLE {t} DROP COLUMN w",)),
    Change(
        "a text becomes longer, and then has no limit",
        PLAIN,
        ("ALTER TABLE {t} ALTER COLUMN w TYPE varchar(20)", "ALTER TABLE {t} ALTER COLUMN w TYPE text"),
    ),
    Change(
        "a default, a constraint, a trigger, an owner, statistics",
        PLAIN,
        (
            "ALTER TABLE {t} ALTER COLUMN v SET DEFAULT 5",
            "ALTER TABLE {t} ADD CHECK (v < 9)",
            "ALTER TABLE {t} ALTER COLUMN v SET STATISTICS 10",
            "ALTER TABLE {t} SET (fillfactor = 90)",
        ),
    ),
]


@pytest.mark.acceptance
def test_postgresql_tells_of_changes_after_which_rows_show_something_else(
    postgres: EmbeddedPostgres, database: str
) -> None:
    world = test_postgresql.Server(postgres, database)
    assert outcomes(world, POSTGRESQL) == wanted(POSTGRESQL)


def test_a_column_that_is_made_anew_under_its_name_stops_the_table_though_nothing_has_moved(
    postgres: EmbeddedPostgres, database: str
) -> None:
    world = test_postgresql.Server(postgres, database)
    world.execute(*(each.replace("{t}", "t") for each in PLAIN))
    probe = SqlProbe(world.address, "shop")
    _, state = synced(probe, spec_of(world, "t"))
    world.execute("ALTER TABLE t DROP COLUMN v, ADD COLUMN v int DEFAULT 9")
    plan = decided(probe, spec_of(world, "t"), state)
    probe.close()
    assert isinstance(plan, SyncPlan)
    with pytest.raises(SchemaChanged, match="'v'"):
        check_same_columns(plan)
