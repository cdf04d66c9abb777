"""The data catalogues of a configuration, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from incremental_assets.core.extras import GLUE
from incremental_assets.core.model.registration import Catalogue
from incremental_assets.resources.references import looked_up_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from incremental_assets.adapters.registering.registrar import DataCatalogue
    from incremental_assets.core.config.settings import Configuration
    from incremental_assets.core.ports import Registrar

_OF_AWS = re.compile(r"https://[^/]+\.amazonaws\.com(\.cn)?")


def open_registrar(configuration: Configuration, session: Callable[[], SparkSession]) -> Registrar | None:
    """None where no copy is to be made known. A catalogue is opened when it is first needed."""
    if not any(source.registers for source in configuration.sources):
        return None
    from incremental_assets.adapters.registering.registrar import Registrar

    openers = {Catalogue.GLUE: partial(_glue, configuration), Catalogue.SPARK: partial(_spark, session)}
    return Registrar(configuration.lake, openers)


def _glue(configuration: Configuration) -> DataCatalogue:
    GLUE.require()
    from incremental_assets.adapters.registering.glue import Glue

    return Glue(partial(_options, configuration))


def _options(configuration: Configuration) -> Mapping[str, str]:
    """As the bucket of the lake is reached; the keys of a store that is not AWS's are none for AWS."""
    store = configuration.store
    if store is None:
        return {}
    found = looked_up_store(store, configuration.path)
    endpoint = found.pop("endpoint", store.endpoint)
    is_of_aws = endpoint is None or _OF_AWS.fullmatch(str(endpoint)) is not None
    return (found if is_of_aws else {}) | ({"region": store.region} if store.region else {})


def _spark(session: Callable[[], SparkSession]) -> DataCatalogue:
    from incremental_assets.adapters.registering.spark_catalogue import SparkCatalogue

    return SparkCatalogue(session)
