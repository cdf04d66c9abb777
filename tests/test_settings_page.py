"""docs/guarantee.md says of each setting what a session makes of it, and of each other one of a server why it may stay as it is."""

from __future__ import annotations

import pytest

from tests.settings_page import TABLES, section, table


@pytest.mark.parametrize("heading", TABLES)
def test_the_page_has_what_a_session_sets_and_nothing_else(heading: str) -> None:
    rows = [line for line in section(heading).splitlines() if line.startswith("|")]
    assert rows == table(TABLES[heading]).splitlines()
