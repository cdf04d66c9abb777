"""MySQL keeps the contract."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.adapters.databases.collation_contract import *  # noqa: F403 - of keys that are written in several ways
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.contract import SourceUnreachable, orders, synced
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys
from tests.adapters.databases.mask_contract import *  # noqa: F403 - of columns that are masked
from tests.adapters.databases.mysql_allowed_contract import *  # noqa: F403 - of what a server allows
from tests.adapters.databases.mysql_contract import *  # noqa: F403 - of MariaDB and MySQL
from tests.adapters.databases.mysql_contract import Shop, renumbered, writes
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

pytestmark = pytest.mark.acceptance
"""The same folder serves MariaDB, which `make test` plays."""


@pytest.fixture
def server(mysql: EmbeddedMySQL) -> EmbeddedMySQL:
    return mysql


@pytest.fixture
def stamps(world: Shop) -> Stamps:
    """A default takes expressions from MySQL 8.0.13 on."""
    return Stamps("", "", world.words.on_update, renumbered=renumbered(world), writes=partial(writes, world))


@pytest.mark.parametrize("tls", ["disable", "require"])
def test_a_password_that_is_kept_as_a_hash_is_taken_with_and_without_tls(shop: Shop, tls: str) -> None:
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT plugin FROM mysql.user WHERE user = 'reader'")
        assert cursor.fetchone() == ("caching_sha2_password",)
    spec = orders(shop)
    assert synced(SqlProbe(replace(shop.address, tls=tls), "shop"), spec)[0] == 3


def test_a_certificate_that_nobody_vouches_for_is_refused(shop: Shop) -> None:
    with pytest.raises(SourceUnreachable, match="no connection under `tls: verify-full`"):
        SqlProbe(replace(shop.address, tls="verify-full"), "shop").catalogue()
