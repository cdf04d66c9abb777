"""What `doctor` finds of the names of assets: whether `translation` can be filled in for every table, and gives each a key of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import IncrementalAssetsError

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


def of_assets(configuration: Configuration, runtime: Runtime) -> Iterator[Finding]:
    """Nothing where nothing is translated. A sync that finds nothing to do names no asset, and would not notice."""
    if configuration.translation is None:
        return
    from incremental_assets.definitions import catalogues
    from incremental_assets.defs.build import views

    try:
        keys = sum(len(view.keys.translated) for view in views(configuration, catalogues(runtime)))
    except IncrementalAssetsError as error:
        cure = "put it right: until then no row that moves can land by a command, and no definition loads"
        yield Finding("assets", "translation", Health.FAIL, str(error), cure)
        return
    yield Finding("assets", "translation", Health.OK, f"{keys:,} keys, each of one table")
