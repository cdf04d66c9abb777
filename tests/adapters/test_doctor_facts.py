"""What doctor learns of a source, and the SQL that fixes it: run as printed, it leaves nothing to complain about."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from incremental_assets.adapters.databases.postgresql.advice.doctor import missing_sql
from incremental_assets.cli.findings.of_table import of_table
from incremental_assets.core.captures.database.doubts import of_numbers
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.model.table_id import TableId
from tests.adapters.source import READER, Source

WANTED = (
    Wanted(TableId("shop", "sales", "orders"), ("updated_at", "created_at")),
    Wanted(TableId("shop", "public", "events"), ("id",)),
    Wanted(TableId("shop", "public", "no_such_table"), ("id",)),
)


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute(
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.orders (id int PRIMARY KEY, updated_at timestamptz, created_at timestamptz)",
        "CREATE INDEX ON sales.orders (created_at)",
        "CREATE TABLE events (id bigserial PRIMARY KEY)",
        f"GRANT SELECT, INSERT ON events TO {READER}",
    )
    return source


def test_the_facts_of_a_reader_without_grants(shop: Source) -> None:
    facts = shop.open(READER).facts(WANTED)
    assert (facts.user, facts.encoding, facts.is_superuser, facts.sees_transactions, facts.is_replica) == (
        READER,
        "UTF8",
        False,
        False,
        False,
    )
    orders, events, missing = facts.tables
    assert (orders.exists, orders.usable, orders.readable, orders.unindexed) == (True, False, False, ("updated_at",))
    assert (events.readable, events.writable, events.unindexed) == (True, True, ())
    assert not missing.exists


def test_the_printed_sql_mends_what_is_missing(shop: Source) -> None:
    printed = missing_sql(shop.address(READER), WANTED, shop.open(READER).facts(WANTED))
    gone = '-- "public"."no_such_table" is not there, so that nothing can be granted on it'
    assert printed.splitlines() == [
        'GRANT pg_read_all_stats TO "plain_reader";',
        gone,
        'GRANT USAGE ON SCHEMA "sales" TO "plain_reader";',
        'GRANT SELECT ON "sales"."orders" TO "plain_reader";',
        'GRANT SELECT ON SEQUENCE public.events_id_seq TO "plain_reader";',
        'REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON "public"."events" FROM "plain_reader";',
        'CREATE INDEX CONCURRENTLY ON "sales"."orders" ("updated_at");',
    ]
    shop.execute(*printed.splitlines())
    assert missing_sql(shop.address(READER), WANTED, shop.open(READER).facts(WANTED)) == gone


def test_a_database_that_does_not_say_which_it_is_is_told_with_the_grant_that_mends_it(source: Source) -> None:
    source.execute("GRANT pg_read_all_stats TO plain_reader")
    source.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    probe = source.open(READER)
    facts = probe.facts(())
    assert (facts.says_which, facts.is_replica) == (False, False)
    (grant,) = missing_sql(source.address(READER), (), facts).splitlines()
    assert grant == 'GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() TO "plain_reader";'
    source.execute(grant)
    assert source.open(READER).facts(()).says_which


def test_without_facts_a_whole_new_role_is_printed_and_no_password(shop: Source) -> None:
    printed = missing_sql(shop.address(READER), WANTED[:1], None)
    assert printed.splitlines()[:3] == [
        'CREATE ROLE "plain_reader" LOGIN;',
        '-- then give it a password in psql: \\password "plain_reader"',
        f'GRANT CONNECT ON DATABASE "{shop.database}" TO "plain_reader";',
    ]
    assert shop.postgres.password_of(READER) not in printed


OWNED = "CREATE TABLE numbered (id bigserial PRIMARY KEY)"
UNOWNED = "CREATE TABLE numbered (id bigint PRIMARY KEY DEFAULT nextval('numbers'))"


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        ((OWNED,), ""),
        (("CREATE TABLE numbered (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",), ""),
        (("CREATE TABLE numbered (id numeric(20, 0) PRIMARY KEY DEFAULT nextval('numbers'))",), ""),
        ((UNOWNED,), ""),
        ((UNOWNED, "ALTER SEQUENCE numbers CACHE 10"), "public.numbers has CACHE 10"),
        ((OWNED, "ALTER SEQUENCE numbered_id_seq CACHE 20"), "public.numbered_id_seq has CACHE 20"),
        ((UNOWNED, "ALTER SEQUENCE numbers INCREMENT -1"), "counts down"),
        ((UNOWNED, "ALTER SEQUENCE numbers CYCLE"), "has CYCLE"),
        (("CREATE UNLOGGED TABLE numbered (id bigserial PRIMARY KEY)",), "public.numbered_id_seq is UNLOGGED"),
        ((UNOWNED, "ALTER SEQUENCE numbers SET UNLOGGED"), "public.numbers is UNLOGGED"),
        (("CREATE TABLE numbered (id bigint PRIMARY KEY)",), "no default draws it"),
        (("CREATE TABLE numbered (id bigint PRIMARY KEY DEFAULT -nextval('numbers'))",), "no default draws it"),
        (("CREATE TABLE numbered (id bigint PRIMARY KEY DEFAULT nextval('numbers'::text))",), "no default draws it"),
        (
            (
                "CREATE TABLE numbered (id bigint PRIMARY KEY DEFAULT nextval('numbers')) PARTITION BY RANGE (id)",
                "CREATE TABLE first PARTITION OF numbered FOR VALUES FROM (0) TO (10)",
            ),
            "",
        ),
        (
            (
                "CREATE TABLE numbered (id bigint PRIMARY KEY DEFAULT nextval('numbers')) PARTITION BY RANGE (id)",
                "CREATE TABLE first (id bigserial PRIMARY KEY)",
                "ALTER TABLE numbered ATTACH PARTITION first FOR VALUES FROM (0) TO (10)",
            ),
            "no default draws it",
        ),
    ],
)
def test_what_proves_that_a_new_number_is_the_highest(source: Source, statements: tuple[str, ...], told: str) -> None:
    source.execute("CREATE SEQUENCE numbers", *statements)
    spec = source.spec("numbered", Cursor("id", CursorType.INTEGER))
    assert told in of_numbers(spec)
    assert bool(told) is bool(of_numbers(spec)), of_numbers(spec)
    assert told in found(source, "numbered", Cursor("id", CursorType.INTEGER))


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("bigint DEFAULT nextval('numbers')", True),
        ("bigint GENERATED BY DEFAULT AS IDENTITY (INCREMENT 50)", True),
        ("bigint GENERATED ALWAYS AS IDENTITY (INCREMENT 50)", False),
        ("bigserial", False),
    ],
)
def test_a_sequence_that_counts_by_more_than_one_may_be_one_of_a_library(
    source: Source, column: str, told: bool
) -> None:
    source.execute("CREATE SEQUENCE numbers INCREMENT 50", f"CREATE TABLE numbered (id {column} PRIMARY KEY)")
    by_id = Cursor("id", CursorType.INTEGER)
    assert of_numbers(source.spec("numbered", by_id)) == "", "nobody can see whether one does"
    assert ("counts by 50" in found(source, "numbered", by_id)) is told


def test_a_table_that_a_crash_empties_is_named_whatever_its_cursor(source: Source) -> None:
    source.execute(
        f"CREATE TABLE stamps ({AT}) PARTITION BY RANGE (at)",
        "CREATE UNLOGGED TABLE years PARTITION OF stamps FOR VALUES FROM ('2000-01-01') TO (MAXVALUE)",
        f"CREATE TABLE others ({AT})",
    )
    by_stamp = Cursor("at", CursorType.TIMESTAMP)
    assert "not logged" in found(source, "stamps", by_stamp)
    assert "not logged" not in found(source, "others", by_stamp)


def test_an_event_trigger_at_login_is_named_where_stamps_are_followed(source: Source) -> None:
    source.execute(f"CREATE TABLE stamps (id bigserial PRIMARY KEY, {AT})")
    by_stamp, by_id = Cursor("at", CursorType.TIMESTAMP), Cursor("id", CursorType.INTEGER)
    assert "logs in" not in found(source, "stamps", by_stamp)
    source.execute(
        "CREATE FUNCTION note_login() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN END $$",
        "CREATE EVENT TRIGGER noting ON login EXECUTE FUNCTION note_login()",
    )
    assert "the event trigger noting may write it when a session logs in" in found(source, "stamps", by_stamp)
    assert "logs in" not in found(source, "stamps", by_id)
    assert source.open().bound().login_trigger == "noting"
    source.execute("ALTER EVENT TRIGGER noting DISABLE")
    assert "logs in" not in found(source, "stamps", by_stamp)


def test_a_sequence_with_an_awkward_name_is_found(source: Source) -> None:
    source.execute(
        """CREATE SCHEMA "it's" """,
        """CREATE SEQUENCE "it's"."a ""queer"" one" """,
        """CREATE TABLE numbered (id bigint PRIMARY KEY DEFAULT nextval('"it''s"."a ""queer"" one"'))""",
    )
    assert of_numbers(source.spec("numbered", Cursor("id", CursorType.INTEGER))) == ""


AT = "at timestamptz NOT NULL DEFAULT now()"


@pytest.mark.parametrize(
    ("statements", "arrivals", "told"),
    [
        ((f"CREATE TABLE stamps ({AT})",), (), ""),
        ((f"CREATE TABLE base ({AT})", "CREATE VIEW stamps AS SELECT * FROM base"), ("view",), "it is a view"),
        (
            (f"CREATE TABLE base ({AT})", "CREATE MATERIALIZED VIEW stamps AS SELECT * FROM base"),
            ("materialized",),
            "materialized view",
        ),
        (
            (
                "CREATE FOREIGN DATA WRAPPER w",
                "CREATE SERVER s FOREIGN DATA WRAPPER w",
                f"CREATE FOREIGN TABLE stamps ({AT}) SERVER s",
            ),
            ("foreign",),
            "foreign table",
        ),
        (
            (
                "CREATE FOREIGN DATA WRAPPER w",
                "CREATE SERVER s FOREIGN DATA WRAPPER w",
                f"CREATE TABLE stamps ({AT}) PARTITION BY RANGE (at)",
                "CREATE TABLE years PARTITION OF stamps FOR VALUES FROM ('2000-01-01') TO (MAXVALUE) PARTITION BY RANGE (at)",
                "CREATE FOREIGN TABLE year PARTITION OF years FOR VALUES FROM ('2000-01-01') TO ('2001-01-01') SERVER s",
            ),
            ("foreign",),
            "a part of it",
        ),
        (
            (
                "CREATE FOREIGN DATA WRAPPER w",
                "CREATE SERVER s FOREIGN DATA WRAPPER w",
                f"CREATE TABLE stamps ({AT})",
                f"CREATE FOREIGN TABLE child ({AT}) INHERITS (stamps) SERVER s",
            ),
            ("foreign",),
            "a part of it",
        ),
    ],
)
def test_rows_that_become_visible_apart_from_their_stamping(
    source: Source, statements: tuple[str, ...], arrivals: tuple[str, ...], told: str
) -> None:
    source.execute(*statements)
    assert source.shape("stamps").arrivals == arrivals
    assert told in found(source, "stamps", Cursor("at", CursorType.TIMESTAMP))


def test_a_table_of_a_subscription_is_known_as_long_as_it_belongs_to_one(source: Source) -> None:
    source.execute(
        f"CREATE TABLE stamps ({AT}) PARTITION BY RANGE (at)",
        "CREATE TABLE years PARTITION OF stamps FOR VALUES FROM ('2000-01-01') TO (MAXVALUE)",
    )
    assert source.shape("stamps").arrivals == ()
    # As CREATE SUBSCRIPTION notes a table; a publisher that answers is played in the report.
    with source.connect() as owner:
        owner.execute("SET allow_system_table_mods = on")
        owner.execute("INSERT INTO pg_subscription_rel SELECT 1, 'years'::regclass, 'r', NULL")
    assert source.shape("stamps").arrivals == ("subscription",)
    assert "logical subscription" in found(source, "stamps", Cursor("at", CursorType.TIMESTAMP))


def test_a_role_that_writes_in_another_zone_than_the_databases_is_named(source: Source) -> None:
    source.execute("CREATE TABLE stamps (at timestamp NOT NULL DEFAULT now())", "CREATE INDEX ON stamps (at)")
    local, stamp = Cursor("at", CursorType.DATETIME), Cursor("at", CursorType.TIMESTAMP)
    source.postgres.create_login("clerk_of_tokyo")
    try:
        source.execute(
            "ALTER ROLE clerk_of_tokyo SET TimeZone = 'Etc/UTC'",
            f"ALTER ROLE clerk_of_tokyo IN DATABASE \"{source.database}\" SET TimeZone = 'Asia/Tokyo'",
        )
        assert "clerk_of_tokyo" not in found(source, "stamps", local), "it may not write"
        source.execute("GRANT INSERT (at) ON stamps TO clerk_of_tokyo")
        assert "clerk_of_tokyo may write it and has TimeZone Asia/Tokyo" in found(source, "stamps", local)
        source.execute(f'ALTER ROLE clerk_of_tokyo IN DATABASE "{source.database}" RESET TimeZone')
        assert "clerk_of_tokyo" not in found(source, "stamps", local), "Etc/UTC is UTC"
        assert "read in UTC: no session that writes may set another" in found(source, "stamps", local)
        source.execute("DROP TABLE stamps", "CREATE TABLE stamps (at timestamptz NOT NULL DEFAULT now())")
        assert "TimeZone" not in found(source, "stamps", stamp)
    finally:
        source.execute(
            "DROP OWNED BY clerk_of_tokyo", "ALTER ROLE clerk_of_tokyo RESET ALL", "DROP ROLE clerk_of_tokyo"
        )


def test_a_zone_that_only_the_database_knows_is_named(source: Source) -> None:
    source.execute(
        "CREATE TABLE stamps (at timestamp NOT NULL DEFAULT now())",
        f"ALTER DATABASE {source.database} SET TimeZone = 5",
    )
    local = Cursor("at", CursorType.DATETIME)
    assert "at is read in 5, which is not in the IANA database" in found(source, "stamps", local)
    assert "read in Asia/Karachi: no" in found(source, "stamps", replace(local, zone="Asia/Karachi"))


def test_a_zone_that_the_reader_cannot_see_behind_its_own_is_named(source: Source) -> None:
    source.execute("CREATE TABLE stamps (at timestamp NOT NULL DEFAULT now())", f"GRANT SELECT ON stamps TO {READER}")
    source.execute(f"ALTER ROLE {READER} SET TimeZone = 'UTC'")
    local = Cursor("at", CursorType.DATETIME)
    try:
        assert "in which 'at' is stamped, cannot be seen" in found(source, "stamps", local, READER)
        assert "read in Asia/Karachi: no" in found(source, "stamps", replace(local, zone="Asia/Karachi"), READER)
    finally:
        source.execute(f"ALTER ROLE {READER} RESET TimeZone")


def found(source: Source, name: str, cursor: Cursor, user: str | None = None) -> str:
    """All that `doctor` says of the table, and of its runs the same reason."""
    probe, spec = source.open(user), source.spec(name, cursor)
    facts = probe.facts([Wanted(spec.id, (cursor.column,))])
    return "\n".join(finding.detail for finding in of_table(spec, facts.tables[0], facts, landed=True))


def test_row_level_security_that_hides_rows_is_seen(shop: Source) -> None:
    shop.execute("ALTER TABLE events ENABLE ROW LEVEL SECURITY")
    assert shop.open(READER).facts(WANTED).tables[1].filtered
    assert not shop.open().facts(WANTED).tables[1].filtered


def test_without_facts_every_table_of_the_schemas_that_are_taken_whole_is_granted(shop: Source) -> None:
    printed = missing_sql(shop.address(READER), WANTED[:1], None, ("public", "sales")).splitlines()
    granted = [line for line in printed if line.startswith("GRANT") and (" ALL " in line or "SCHEMA" in line)]
    assert granted == [
        'GRANT USAGE ON SCHEMA "public" TO "plain_reader";',
        'GRANT USAGE ON SCHEMA "sales" TO "plain_reader";',
        'GRANT SELECT ON ALL TABLES IN SCHEMA "public" TO "plain_reader";',
        'GRANT SELECT ON ALL TABLES IN SCHEMA "sales" TO "plain_reader";',
        'GRANT SELECT ON ALL SEQUENCES IN SCHEMA "public" TO "plain_reader";',
        'GRANT SELECT ON ALL SEQUENCES IN SCHEMA "sales" TO "plain_reader";',
    ]
    assert not [line for line in printed if line.startswith("GRANT SELECT ON") and '"orders"' in line]


def test_tables_that_may_not_be_read_are_in_the_catalogue_and_the_printed_grants_open_them(shop: Source) -> None:
    shop.execute("CREATE TABLE hidden (id int PRIMARY KEY)")
    schemas = ("public", "sales")
    shapes = {shape.id.name: shape.readable for shape in shop.open(READER, schemas=schemas).catalogue()}
    assert shapes == {"events": True, "hidden": False, "orders": False}
    assert shop.open(READER).missing_schemas(("public", "publc")) == ("publc",)

    wanted = [Wanted(TableId("shop", "public", "hidden"), ()), Wanted(TableId("shop", "sales", "orders"), ())]
    shop.execute(*missing_sql(shop.address(READER), wanted, shop.open(READER).facts(wanted)).splitlines())
    assert all(shape.readable for shape in shop.open(READER, schemas=schemas).catalogue())


def test_the_printed_index_of_a_partitioned_table_is_one_that_postgresql_builds(shop: Source) -> None:
    shop.execute(
        "CREATE TABLE visits (id int, seen_at timestamptz) PARTITION BY RANGE (id)",
        "CREATE TABLE visits_1 PARTITION OF visits FOR VALUES FROM (0) TO (100)",
        f"GRANT SELECT ON visits TO {READER}",
        f"GRANT pg_read_all_stats TO {READER}",
    )
    wanted = (Wanted(TableId("shop", "public", "visits"), ("seen_at",)),)
    printed = missing_sql(shop.address(READER), wanted, shop.open(READER).facts(wanted))

    assert [line for line in printed.splitlines() if not line.startswith("--")] == [
        'CREATE INDEX ON "public"."visits" ("seen_at");'
    ]
    shop.execute(printed)
    assert missing_sql(shop.address(READER), wanted, shop.open(READER).facts(wanted)) == ""


def test_a_key_that_inheriting_tables_do_not_share_is_remembered_as_the_tables_own(shop: Source) -> None:
    shop.execute(
        "CREATE TABLE cities (id int PRIMARY KEY, name text)",
        "CREATE TABLE capitals (country text) INHERITS (cities)",
        "CREATE TABLE bare ()",
        f"GRANT SELECT ON cities, capitals, bare TO {READER}",
    )
    found = {shape.id.name: shape for shape in shop.open(READER).catalogue()}

    assert (found["cities"].primary_key, found["cities"].own_key) == ((), ("id",))
    assert (found["capitals"].primary_key, found["capitals"].own_key) == ((), ())
    assert found["bare"].columns == ()


def test_what_a_role_may_still_open_is_told_by_its_own_limit(source: Source) -> None:
    source.execute(f"ALTER ROLE {READER} CONNECTION LIMIT 3", f"GRANT pg_read_all_stats TO {READER}")
    try:
        assert source.open(READER).facts(()).room == 3
        with psycopg.connect(source.postgres.dsn(source.database, READER)):
            assert source.open(READER).facts(()).room == 2
    finally:
        source.execute(f"ALTER ROLE {READER} CONNECTION LIMIT -1", f"REVOKE pg_read_all_stats FROM {READER}")
