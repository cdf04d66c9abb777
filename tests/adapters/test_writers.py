"""A role whose sessions begin with settings of its own may write a table by other ways than its own rights to it: what it begins with decides the stamps there, too."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.stamping import Unproven
from incremental_assets.core.model.table import Cursor
from tests.adapters.source import READER, Source
from tests.shop import touching

ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamp NOT NULL DEFAULT now()) PARTITION BY RANGE (id)",
    "CREATE TABLE first PARTITION OF orders DEFAULT",
    *touching("orders"),
)
WAYS = {
    "its own right": ("GRANT INSERT ON orders TO {role}",),
    "a role that it may become": (
        "CREATE ROLE {role}_of_many",
        "ALTER ROLE {role} NOINHERIT",
        "GRANT {role}_of_many TO {role}",
        "GRANT UPDATE ON orders TO {role}_of_many",
    ),
    "a partition": ("GRANT INSERT ON first TO {role}",),
    "a function that runs as its owner": (
        "CREATE FUNCTION put() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'INSERT INTO orders VALUES (1)'",
    ),
    "a view of a view": (
        "CREATE VIEW inner_one AS SELECT id FROM orders",
        "CREATE VIEW outer_one AS SELECT * FROM inner_one",
        "GRANT INSERT ON outer_one TO {role}",
    ),
    "a row that others refer to": (
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "ALTER TABLE orders ADD COLUMN parent int REFERENCES parent ON UPDATE CASCADE",
        "GRANT UPDATE ON parent TO {role}",
    ),
    "a trigger that runs as its owner": (
        "CREATE TABLE beside (id int)",
        "CREATE FUNCTION along() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$BEGIN INSERT INTO orders (id) VALUES (NEW.id); RETURN NEW; END$$",
        "CREATE TRIGGER along AFTER INSERT ON beside FOR EACH ROW EXECUTE FUNCTION along()",
        "GRANT INSERT ON beside TO {role}",
    ),
}
NO_WAYS = {
    "it may only read": ("GRANT SELECT ON orders TO {role}",),
    "a view that nobody can write": (
        "CREATE VIEW counted AS SELECT count(*) FROM orders",
        "GRANT ALL ON counted TO {role}",
    ),
    "a trigger of a table that it may not write": (
        *WAYS["a trigger that runs as its owner"][:-1],
        "GRANT SELECT ON beside TO {role}",
    ),
    "a function that it may not run": (
        *WAYS["a function that runs as its owner"],
        "REVOKE EXECUTE ON FUNCTION put FROM PUBLIC",
    ),
}


@pytest.fixture
def role(source: Source) -> Iterator[str]:
    """A login of this test's own, which goes with it."""
    name = f"clerk_{source.database}"
    source.execute(f"CREATE ROLE {name} LOGIN", *ORDERS)
    yield name
    with psycopg.connect(source.postgres.dsn(source.database), autocommit=True) as connection:
        for each in (name, f"{name}_of_many"):
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [each]).fetchone():
                connection.execute(f"DROP OWNED BY {each}".encode())
                connection.execute(f"DROP ROLE {each}".encode())


@pytest.mark.parametrize("way", WAYS)
def test_a_role_with_another_zone_that_may_write_by_any_way_is_named(source: Source, role: str, way: str) -> None:
    source.execute(
        *(each.replace("{role}", role) for each in WAYS[way]),
        f"GRANT SELECT ON orders TO {READER}",
        f"GRANT pg_read_all_stats TO {READER}",
        f"ALTER ROLE {role} SET TimeZone = 'America/New_York'",
    )
    cursor = Cursor("updated_at", CursorType.DATETIME)
    settled = settle(source.spec("orders", cursor), cursor, source.open(READER).bound(), None, None)
    assert (settled.guarantee, f"{role} may write it" in settled.reason) == (Guarantee.BEST_EFFORT, True)


@pytest.mark.parametrize("way", WAYS)
def test_so_is_one_whose_sessions_run_no_ordinary_trigger(source: Source, role: str, way: str) -> None:
    source.execute(
        *(each.replace("{role}", role) for each in WAYS[way]),
        f"ALTER ROLE {role} SET session_replication_role = replica",
    )
    (stamping,) = (each.stamps for each in source.shape("orders").columns if each.name == "updated_at")
    assert stamping is not None
    assert isinstance(stamping.update, Unproven)
    assert f"does not run in sessions of {role}" in stamping.update.why


@pytest.mark.parametrize("way", NO_WAYS)
def test_one_that_has_no_way_to_write_is_not(source: Source, role: str, way: str) -> None:
    source.execute(
        *(each.replace("{role}", role) for each in NO_WAYS[way]),
        f"ALTER ROLE {role} SET TimeZone = 'America/New_York'",
    )
    assert source.shape("orders").zones == ()


def test_a_zone_of_all_roles_is_the_databases_where_it_has_none(source: Source) -> None:
    try:
        source.execute("ALTER ROLE ALL SET TimeZone = 'Asia/Tokyo'", f"ALTER ROLE {READER} SET TimeZone = 'UTC'")
        assert source.open(READER).bound().zone == "Asia/Tokyo"
        source.execute(f"ALTER DATABASE \"{source.database}\" SET TimeZone = 'America/New_York'")
        assert source.open(READER).bound().zone == "America/New_York"
    finally:
        source.execute("ALTER ROLE ALL RESET TimeZone", f"ALTER ROLE {READER} RESET TimeZone")
