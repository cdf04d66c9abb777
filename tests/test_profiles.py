"""A search of hypothesis may take as long as a busy machine lets it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck


def test_no_search_is_against_the_clock(request: pytest.FixtureRequest) -> None:
    """A test that is decorated before the profile is loaded would be; of all that are collected beside this one."""
    functions = {item.nodeid: getattr(item, "function", None) for item in request.session.items}
    terms = {name: getattr(each, "_hypothesis_internal_use_settings", None) for name, each in functions.items()}
    searches = {name: given for name, given in terms.items() if given is not None}
    assert [name for name, given in searches.items() if given.deadline is not None] == []
    assert [name for name, given in searches.items() if HealthCheck.too_slow not in given.suppress_health_check] == []
