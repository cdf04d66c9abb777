"""A store of objects that keeps what it holds on disk, and can therefore be killed: the demo's, for tests."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from incremental_assets.demo.object_store import EmbeddedObjectStore

_BRINGS = Path(__file__).parents[3] / ".ci/seaweedfs.sh"


@contextmanager
def serving_from(folder: Path) -> Iterator[EmbeddedObjectStore]:
    """One that holds nothing. Where its program cannot be had, the test is skipped and says so."""
    brought = subprocess.run([_BRINGS], capture_output=True, text=True, check=False)
    if brought.returncode != 0:
        pytest.skip(f"no SeaweedFS: {brought.stderr.strip()}")
    store = EmbeddedObjectStore(folder).start()
    try:
        yield store
    finally:
        store.remove()


def new_bucket(store: EmbeddedObjectStore) -> str:
    """The address of a bucket that has nothing of a lake in it."""
    return store.make_bucket(f"bucket-{uuid.uuid4()}")
