"""The shop in Dagster, new for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster.components.testing import create_defs_folder_sandbox

from tests.defs.project import Project
from tests.defs.studio import Studio, opened


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    """An instance in memory."""
    with DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def studio(tmp_path: Path, instance: DagsterInstance) -> Studio:
    """`orders` by month, `countries` read whole."""
    return opened(tmp_path, instance)


@pytest.fixture
def project() -> Iterator[Project]:
    """Without a component so far."""
    with create_defs_folder_sandbox() as sandbox:
        yield Project(sandbox)
