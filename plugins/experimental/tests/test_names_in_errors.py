"""A service may be called as what secures a line."""

from __future__ import annotations

import oracledb
from oracledb.errors import _Error

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets_experimental.oracle import errors as oracle

SERVER = Address("oracle", "ssl.certificates.example", 1521, "no database", "ssl error", "hunter2")


def test_a_service_of_oracle_may_be_called_as_what_secures_a_line() -> None:
    text = 'DPY-6001: Service "certificates" is not registered with the listener at host "ssl.example" port 1521.'
    found = oracle.explain(oracledb.OperationalError(_Error(message=text)), SERVER, None)
    assert isinstance(found, SourceUnreachable)
    assert "the listener knows no service" in str(found)
