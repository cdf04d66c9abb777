"""The strategies, one object each: they are asked for their traits, and compared only here and in `config`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from incremental_assets.core.strategies.append import APPEND
from incremental_assets.core.strategies.full_refresh import FULL_REFRESH
from incremental_assets.core.strategies.strategy import Strategy, Traits
from incremental_assets.core.strategies.upsert import UPSERT

__all__ = ["Strategy", "Traits", "traits_of"]

_TRAITS: Mapping[Strategy, Traits] = MappingProxyType(
    {Strategy.APPEND: APPEND, Strategy.UPSERT: UPSERT, Strategy.FULL_REFRESH: FULL_REFRESH}
)


def traits_of(strategy: Strategy) -> Traits:
    """The traits behind the name."""
    return _TRAITS[strategy]
