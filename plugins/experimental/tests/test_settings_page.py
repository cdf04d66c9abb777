"""docs/guarantee.md says of each setting what a session makes of it."""

from __future__ import annotations

import pytest

from incremental_assets_experimental.oracle import settings as oracle
from incremental_assets_experimental.sqlserver import settings as sqlserver
from tests.settings_page import section, table

TABLES = {"SQL Server": tuple(sqlserver.SETTINGS.values()), "Oracle": oracle.SETTINGS}


@pytest.mark.parametrize("heading", TABLES)
def test_the_page_has_what_a_session_sets_and_nothing_else(heading: str) -> None:
    rows = [line for line in section(heading).splitlines() if line.startswith("|")]
    assert rows == table(TABLES[heading]).splitlines()
