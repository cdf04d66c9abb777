"""Composition root: reads the configuration, opens what it needs, and gives Dagster its definitions.

Loading asks no source and starts no JVM. Tables that the configuration does not list, and the columns of all of them, come from the
catalogue last seen, which is kept with the checkpoints.
"""

from __future__ import annotations

import gc
import logging
import os
from pathlib import Path

from dagster import Definitions, definitions

from incremental_assets.adapters.fork_server.runs import begin_as_forks
from incremental_assets.adapters.uncollected import uncollected
from incremental_assets.core.config.load import CONFIG_VARIABLE, load
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.defs.build import build
from incremental_assets.defs.jobs import ONE_SESSION
from incremental_assets.defs.opened import RESOURCE
from incremental_assets.defs.shutdown import end_runs_with_server
from incremental_assets.resources.runtime import Runtime

_log = logging.getLogger(__name__)


def config_path() -> Path:
    """The configuration to read."""
    return Path(os.environ.get(CONFIG_VARIABLE) or Path(__file__).with_name("sources.yaml"))


@definitions
def defs() -> Definitions:
    """Loaded by `workspace.yaml`: nothing happens before Dagster calls it."""
    end_runs_with_server()
    begin_as_forks()
    # A thousand tables are a million objects that stay: to look through them for garbage again and again took a sixth of the time.
    with uncollected():
        found = of(Runtime(_loaded()))
        gc.freeze()
    return found


def of(runtime: Runtime) -> Definitions:
    """Everything that a configuration describes, around one runtime."""
    return Definitions.merge(
        build(runtime.configuration, catalogues(runtime), {RESOURCE: runtime, "spark": runtime.spark}),
        # For what the UI materializes without a job; in another project that is not ours to set.
        Definitions(executor=ONE_SESSION),
    )


def catalogues(runtime: Runtime) -> dict[str, tuple[TableShape, ...]]:
    """The last seen catalogues; nothing for a source that was never seen."""
    try:
        return {
            source.name: runtime.checkpoints.catalogue(source.name) or () for source in runtime.configuration.sources
        }
    except IncrementalAssetsError as error:
        # The listed tables can be shown without it, and the page of a run says the same once it matters.
        _log.warning("tables that are not listed are not shown: %s", error)
        return {}


def _loaded() -> Configuration:
    try:
        configuration = load(config_path())
    except IncrementalAssetsError as error:
        # Dagster shows a broken code location with its traceback: `from None` keeps that to the mistakes themselves.
        raise error from None
    for sentence in configuration.unencrypted:
        _log.warning(sentence)
    return configuration
