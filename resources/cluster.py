"""The executors of a cluster, asked by a task on each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from incremental_assets.core.config.database_settings import DatabaseSettings
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.errors import IncrementalAssetsError, SetupError
from incremental_assets.resources.references import looked_up

_PYTHON = ("PYTHON_VERSION_MISMATCH", "Cannot run program")
"""Spark's words."""

if TYPE_CHECKING:
    from incremental_assets.adapters.spark.executors import Executor
    from incremental_assets.core.config.settings import Configuration
    from incremental_assets.resources.runtime import Runtime


class WithoutPython(SetupError):
    """No task in Python runs on the executors."""


def ask_executors(runtime: Runtime) -> tuple[tuple[Executor, ...], str]:
    """What each has and reaches; and the lake, empty for one that only Spark reaches. Raises WithoutPython, and whatever stops a session or the lake."""
    from incremental_assets.adapters.lake_store.opened import reached
    from incremental_assets.adapters.spark.error_text import words
    from incremental_assets.adapters.spark.executors import Asked, executors

    configuration = runtime.configuration
    with _left_in(configuration.lake) as (file, content):
        asked = Asked(file, content, _addresses(configuration), reached(configuration.lake))
        try:
            return executors(runtime.spark.session(), asked), configuration.lake if file else ""
        except IncrementalAssetsError:
            raise
        except Exception as error:
            told = next((line for line in words(error).splitlines() if any(each in line for each in _PYTHON)), "")
            if not told:
                raise
            raise WithoutPython(
                f"no task in Python runs on the executors ({told.strip()}), so that Spark itself reads and writes all rows, which takes longer"
            ) from error


@contextmanager
def _left_in(lake: str) -> Iterator[tuple[str, bytes]]:
    """A file that is there for as long as the block; none where only Spark reaches the lake."""
    from incremental_assets.adapters.lake_store.opened import store_of

    store = store_of(lake)
    if store is None:
        yield "", b""
        return
    key, content = f"{lake}/.{uuid.uuid4()}.trial", uuid.uuid4().bytes
    store.own_folder(lake)
    store.put(key, content)
    try:
        yield key, content
    finally:
        store.delete(key)


def _addresses(configuration: Configuration) -> dict[str, tuple[str, int]]:
    """Of databases behind a port, as far as their references lead anywhere."""
    found = {}
    for source in configuration.sources:
        settings = source.settings
        if isinstance(settings, DatabaseSettings) and not facts_of(source.dialect).is_file:
            values, problems = looked_up(source, configuration.path)
            host, port = (values.get(name, getattr(settings, name)) for name in ("host", "port"))
            if not problems:
                found[source.name] = (str(host), int(str(port)))
    return found
