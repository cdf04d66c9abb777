"""Opens the observers of a configuration: those that it names, and traces where the environment says to where."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from incremental_assets.core.errors import ConfigurationError, SetupError
from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.core.observing.observers import Observers
from incremental_assets.core.observing.registry import open_observer
from incremental_assets.resources.references import looked_up_address

if TYPE_CHECKING:
    from incremental_assets.core.config.settings import Configuration, SourceSettings

_log = logging.getLogger(__name__)
TRACES = "opentelemetry"
"""The name of our own observer, and the start of the names of the variables by which it is asked for."""


def open_observers(configuration: Configuration) -> Observers:
    """Raises SetupError where one that is named cannot be opened. One that only the environment asks for is left out then, with a warning: it may mean other programs."""
    datasets = datasets_of(configuration)
    found = Observers(*(open_observer(name, datasets) for name in configuration.observers))
    if TRACES not in configuration.observers and any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
        from incremental_assets.adapters.telemetry.opening import is_asked_for, open_tracing

        if is_asked_for():
            try:
                found.join(open_tracing(datasets))
            except SetupError as error:
                _log.warning("%s; until then there are no traces", error)
    return found


def datasets_of(configuration: Configuration) -> Datasets:
    """Whose sources' addresses are looked up once, and no secret of theirs."""

    @cache
    def settings(name: str) -> SourceSettings:
        source = configuration.source(name)
        found: Any = source.settings
        values, problems = looked_up_address(source, configuration.path)
        if problems:
            raise ConfigurationError(tuple(problems))
        return cast("SourceSettings", replace(found, **values) if values else found)

    return Datasets(configuration.lake, lambda table: settings(table.source).dataset(table.schema, table.name))
