"""MariaDB keeps the contract."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from incremental_assets.adapters.databases.mysql import catalogue, key_ranges
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.strategies import Strategy
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.databases.collation_contract import *  # noqa: F403 - of keys that are written in several ways
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.contract import SourceUnreachable, orders, planned, spec_of
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys
from tests.adapters.databases.mask_contract import *  # noqa: F403 - of columns that are masked
from tests.adapters.databases.mysql_allowed_contract import *  # noqa: F403 - of what a server allows
from tests.adapters.databases.mysql_contract import *  # noqa: F403 - of MariaDB and MySQL
from tests.adapters.databases.mysql_contract import Shop, elsewhere, renumbered, state_of, writes
from tests.adapters.databases.mysql_load import *  # noqa: F403 - the minute under load
from tests.adapters.databases.mysql_stamps_contract import *  # noqa: F403 - of who stamps
from tests.adapters.databases.mysql_values_contract import *  # noqa: F403 - of their values
from tests.adapters.databases.names_contract import *  # noqa: F403 - of columns that the copy names otherwise
from tests.adapters.databases.places_contract import *  # noqa: F403 - of rows by their keys
from tests.adapters.databases.ranges_contract import *  # noqa: F403 - of ranges of a key
from tests.adapters.databases.settings_contract import *  # noqa: F403 - of what is set against us
from tests.adapters.databases.stamps_contract import *  # noqa: F403 - of who stamps
from tests.adapters.databases.stamps_contract import Stamps
from tests.adapters.databases.where_contract import *  # noqa: F403 - of rows that are chosen
from tests.waiting import until


@pytest.fixture
def server(mariadb: EmbeddedMariaDB) -> EmbeddedMariaDB:
    return mariadb


@pytest.fixture
def stamps(world: Shop) -> Stamps:
    hour = "(date_format(now(), '%Y-%m-%d %H:00:00'))"
    return Stamps(
        hour,
        "(now() - interval 1 hour)",
        world.words.on_update,
        renumbered=renumbered(world),
        writes=partial(writes, world),
    )


def test_where_tls_is_wanted_a_server_without_it_is_refused(shop: Shop) -> None:
    with pytest.raises(SourceUnreachable, match="no connection under `tls: require`"):
        SqlProbe(replace(shop.address, tls="require"), "shop").catalogue()


def test_rows_that_are_left_of_another_have_its_stamp_and_are_not_promised(shop: Shop) -> None:
    stamped = "at datetime(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)"
    shop.execute(
        f'CREATE TABLE things (id int, "a ` b" date, e date, {stamped}, PERIOD FOR p ("a ` b", e), PRIMARY KEY (id, p WITHOUT OVERLAPS))',
        f"CREATE TABLE spans (id int PRIMARY KEY, s date, e date, {stamped}, CHECK (s < e))",
        "INSERT INTO things (id, \"a ` b\", e) VALUES (1, '2000-01-01', '2010-01-01')",
    )
    for strategy in (Strategy.UPSERT, Strategy.APPEND):
        found = {}
        for name in ("things", "spans"):
            probe = SqlProbe(shop.address, "shop")
            cursor = Cursor("at", shop.words.stamps)
            settled = planned(probe, spec_of(shop, name, cursor, strategy=strategy)).reading.settled
            probe.close()
            found[name] = settled.guarantee, "`FOR PORTION OF p` adds rows to it" in settled.reason
        assert found == {"things": (Guarantee.BEST_EFFORT, True), "spans": (Guarantee.SETTLED, False)}
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("DELETE FROM things FOR PORTION OF p FROM '2003-01-01' TO '2004-01-01'")
        cursor.execute("SELECT COUNT(*), COUNT(DISTINCT at) FROM things")
        assert cursor.fetchall() == ((2, 1),), "what the server does"


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "waits",
    [1, pytest.param(60, id="known-bad: as long as a question may take", marks=pytest.mark.acceptance)],
)
def test_a_table_that_is_just_being_made_is_named_and_the_others_are_described(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, waits: int
) -> None:
    monkeypatch.setattr(catalogue, "_MOMENT", waits)
    orders(shop)
    probe = SqlProbe(replace(shop.address, statement_timeout=timedelta(seconds=5)), "shop")
    holder, maker = shop.connect(), shop.connect()
    holder.cursor().execute("DO GET_LOCK('made', 0)")
    with elsewhere(lambda: maker.cursor().execute("CREATE TABLE made AS SELECT GET_LOCK('made', 60) AS got")):
        try:
            until(lambda: state_of(shop, "User lock"))
            if waits > 5:
                with pytest.raises(SourceRefused, match="cancelled the query after 5s"):
                    probe.catalogue()
                return
            found = {shape.id.name: shape for shape in probe.catalogue()}
        finally:
            holder.close()
    assert found["orders"].names == ("id", "note", "updated_at")
    assert "another session holds a lock on it" in found["made"].undescribed
    assert probe.catalogue()[0].undescribed == ""


def test_where_a_step_takes_longer_than_a_statement_may_the_table_is_not_read_in_ranges(
    world: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = orders(world)
    probe = SqlProbe(replace(world.address, statement_timeout=timedelta(seconds=1)), "shop")
    assert probe.key_ranges(spec, None, 2) is not None
    monkeypatch.setattr(key_ranges, "relation", lambda _: "(SELECT * FROM orders WHERE SLEEP(30) = 0) AS o")
    assert probe.key_ranges(spec, None, 2) is None
    probe.close()
