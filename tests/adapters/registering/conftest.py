"""AWS Glue on this machine (moto, in memory); each test has a database of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import botocore.session
import pytest

from tests.adapters.lake_store.bucket import serving

_DATABASES = count(1)


@pytest.fixture(scope="session")
def aws_server() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def aws(aws_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address. The environment is that of somebody who has keys, and a region."""
    given = {
        "AWS_ENDPOINT_URL": f"http://{aws_server}",
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "s3cret",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return aws_server


@pytest.fixture
def glue_client(aws: str) -> Any:
    return botocore.session.get_session().create_client("glue")


@pytest.fixture
def database(glue_client: Any) -> str:
    name = f"lake_{next(_DATABASES)}"
    glue_client.create_database(DatabaseInput={"Name": name})
    return name
