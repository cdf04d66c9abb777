"""MariaDB keeps the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.contract import SourceUnreachable
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys
from tests.adapters.databases.mysql_contract import *  # noqa: F403 - of MariaDB and MySQL
from tests.adapters.databases.mysql_contract import Shop
from tests.adapters.databases.mysql_load import *  # noqa: F403 - the minute under load
from tests.adapters.databases.mysql_values_contract import *  # noqa: F403 - of their values
from tests.adapters.databases.places_contract import *  # noqa: F403 - of rows by their keys


@pytest.fixture
def server(mariadb: EmbeddedMariaDB) -> EmbeddedMariaDB:
    return mariadb


def test_where_tls_is_wanted_a_server_without_it_is_refused(shop: Shop) -> None:
    with pytest.raises(SourceUnreachable, match="no connection under `tls: require`"):
        SqlProbe(replace(shop.address, tls="require"), "shop").catalogue()
