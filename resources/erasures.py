"""Keys that were erased from copies of the configuration's lake, and the secret key by which they are known."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from incremental_assets.core.model.erased import ErasureKey
from incremental_assets.resources.references import looked_up_erasure

if TYPE_CHECKING:
    from incremental_assets.adapters.delta.erased import LakeErasures
    from incremental_assets.core.config.settings import Configuration


def erasure_key(configuration: Configuration) -> ErasureKey | None:
    """None where the configuration names none. Raises ConfigurationError."""
    found = looked_up_erasure(configuration.erasure, configuration.path)
    return None if found is None else ErasureKey(found)


def open_erasures(configuration: Configuration) -> LakeErasures:
    """The lists in the lake, read when somebody asks."""
    from incremental_assets.adapters.delta.erased import LakeErasures

    return LakeErasures(configuration.lake, partial(erasure_key, configuration))
