"""What doctor learns of a source, and the SQL that mends it: run as printed, it leaves nothing to complain about."""

from __future__ import annotations

import pytest

from incremental_assets.core.facts import Wanted
from incremental_assets.core.table import TableId
from incremental_assets.engine.dialects.postgresql_doctor import missing_sql
from tests.engine.source import READER, Source

pytestmark = pytest.mark.postgres

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
        "ALTER SEQUENCE events_id_seq CACHE 20",
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
    assert (events.readable, events.writable, events.unindexed, events.cached_sequence) == (True, True, (), 20)
    assert not missing.exists


def test_the_printed_sql_mends_what_is_missing(shop: Source) -> None:
    printed = missing_sql(shop.address(READER), WANTED, shop.open(READER).facts(WANTED))
    assert printed.splitlines() == [
        'GRANT pg_read_all_stats TO "plain_reader";',
        'GRANT USAGE ON SCHEMA "sales" TO "plain_reader";',
        'GRANT SELECT ON "sales"."orders" TO "plain_reader";',
        'REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON "public"."events" FROM "plain_reader";',
        'CREATE INDEX CONCURRENTLY ON "sales"."orders" ("updated_at");',
    ]
    shop.execute(*printed.splitlines())
    assert missing_sql(shop.address(READER), WANTED, shop.open(READER).facts(WANTED)) == ""


def test_without_facts_a_whole_new_role_is_printed_and_no_password(shop: Source) -> None:
    printed = missing_sql(shop.address(READER), WANTED[:1], None)
    assert printed.splitlines()[:3] == [
        'CREATE ROLE "plain_reader" LOGIN;',
        '-- then give it a password in psql: \\password "plain_reader"',
        f'GRANT CONNECT ON DATABASE "{shop.database}" TO "plain_reader";',
    ]
    assert shop.postgres.password_of(READER) not in printed


def test_row_level_security_that_hides_rows_is_seen(shop: Source) -> None:
    shop.execute("ALTER TABLE events ENABLE ROW LEVEL SECURITY")
    assert shop.open(READER).facts(WANTED).tables[1].filtered
    assert not shop.open().facts(WANTED).tables[1].filtered
