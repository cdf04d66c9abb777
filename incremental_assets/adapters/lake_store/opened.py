"""The store of an address: the one place that asks where a lake is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from incremental_assets.adapters.lake_store.local import LocalStore
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.extras import S3

Options = Callable[[], Mapping[str, str]]
"""How a bucket is reached, beside what the environment says: names as those of `object_store`, such as `aws_endpoint`. Asked when it is opened."""

_ROOT = re.compile(r"(?:s3a?|gs|abfss)://[^/]+")
"""Of what only Spark can reach, such as `hdfs://`, there is none."""
_LOCAL = LocalStore()
_known: dict[str, Options] = {}
_led_to: dict[str, Mapping[str, str]] = {}
"""What was said of a bucket when it was first asked for."""


def configure(lake: str, options: Options) -> None:
    """From now on this process reaches the bucket of a lake so."""
    found = _ROOT.match(lake)
    if found is not None:
        _known[found[0]] = options
        _led_to.pop(found[0], None)
        _objects.cache_clear()


def renew() -> None:
    """From now on a bucket of which something else is said by now, such as a key that was rotated, is reached so; whoever works with it goes on as before."""
    for root in [each for each in _led_to if each in _known]:
        # Where nothing can be said, that of before may still do.
        with suppress(ConfigurationError):
            now = _known[root]()
            if now != _led_to[root]:
                _led_to[root] = now
                _objects.cache_clear()


@dataclass(frozen=True, slots=True)
class Reached:
    """How the bucket of a lake is reached, as a task is given it. It holds secrets, and shows none."""

    lake: str
    options: Mapping[str, str] = field(repr=False)


def reached(lake: str) -> Reached | None:
    """As this process reaches it; None where a task needs nothing."""
    options = dict(options_of(lake))
    return Reached(lake, options) if options else None


def reach(found: Reached | None) -> None:
    """From now on this process reaches it as another does: a task that finds the bucket open goes on with it."""
    if found is not None and dict(options_of(found.lake)) != found.options:
        configure(found.lake, lambda: found.options)


def options_of(address: str) -> Mapping[str, str]:
    """What was configured for the bucket of an address."""
    found = _ROOT.match(address)
    return _options(found[0]) if found else MappingProxyType({})


def store_of(address: str) -> LakeStore | None:
    """The place of a file or a folder; None for one that only Spark can reach. Raises SetupError where the client of stores is missing."""
    if "://" not in address:
        return _LOCAL
    found = _ROOT.match(address)
    return None if found is None else _objects(found[0])


def _options(root: str) -> Mapping[str, str]:
    if root not in _led_to:
        _led_to[root] = _known[root]() if root in _known else MappingProxyType({})
    return _led_to[root]


@cache
def _objects(root: str) -> LakeStore:
    S3.require()
    from incremental_assets.adapters.lake_store.objects import ObjectStore

    return ObjectStore(root, _options(root))
