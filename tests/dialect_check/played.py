"""The contract of all databases, against the server that `make dialect-check URL=…` names. Not collected by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from incremental_assets.core.discovery.source_url import parse_url
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys
from tests.adapters.databases.places_contract import *  # noqa: F403 - of rows by their keys
from tests.dialect_check.worlds import KINDS, Scratch, address_of, scratch

URL = "DIALECT_CHECK_URL"


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[Scratch]:
    url = parse_url(os.environ[URL])
    if reason := KINDS[url.dialect].cannot.get(request.function.__name__):
        pytest.skip(reason)
    made = scratch(address_of(url, os.environ.get(url.variable, "")))
    yield made
    made.drop()
