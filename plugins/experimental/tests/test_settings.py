"""A session whose settings are not what its answers depend on is refused by name."""

from __future__ import annotations

import pytest

from incremental_assets.core.errors import SourceRefused
from incremental_assets_experimental.oracle import settings as oracle
from incremental_assets_experimental.sqlserver import settings as sqlserver

PLACE = "reader@db:3306/shop"


def test_a_session_of_sql_server_that_is_otherwise_is_refused() -> None:
    right = tuple(each.value for each in sqlserver.SETTINGS.values())
    sqlserver.check(lambda _: iter([right]), PLACE)
    with pytest.raises(SourceRefused, match="`text_size` is '4096' although"):
        sqlserver.check(lambda _: iter([(*right[:-1], "4096")]), PLACE)
    with pytest.raises(SourceRefused, match="does not tell whether the session's `quoted_identifier`"):
        sqlserver.check(lambda _: iter([]), PLACE)


def test_a_session_of_oracle_that_is_otherwise_is_refused() -> None:
    right = {each.name: each.value for each in oracle.SETTINGS}
    oracle.check(lambda _: iter(right.items()), PLACE)
    with pytest.raises(SourceRefused, match="`NLS_COMP` is 'LINGUISTIC' although"):
        oracle.check(lambda _: iter((right | {"NLS_COMP": "LINGUISTIC"}).items()), PLACE)
    with pytest.raises(SourceRefused, match="does not tell whether the session's `TIME_ZONE`"):
        oracle.check(lambda _: iter([]), PLACE)
