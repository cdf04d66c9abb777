"""Observers by name: those that packages bring as entry points, opened where the configuration names them."""

from __future__ import annotations

from importlib.metadata import entry_points

from incremental_assets.core.errors import SetupError
from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.core.observing.observers import Observer

GROUP = "incremental_assets.observers"
"""The group of entry points: a function of the `Datasets` of the configuration, which returns an `Observer`. Nothing is loaded that nobody has named."""


def checked_observer(name: str) -> str:
    """An observer that is there. ValueError says what to write."""
    known = sorted(entry_points(group=GROUP).names)
    if name in known:
        return name
    raise ValueError(
        f"no installed package brings an observer {name!r} (an entry point of the group {GROUP}); use {', '.join(known)}, or install the package that brings it"
    )


def open_observer(name: str, datasets: Datasets) -> Observer:
    """Load it and call it. Raises SetupError if that fails."""
    (entry, *_) = entry_points(group=GROUP, name=name)
    try:
        found: Observer = entry.load()(datasets)
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(
            f"the observer {name!r} ({entry.value}) could not be opened: {type(error).__name__}: {error}; correct what it needs, or remove it from `observers`"
        ) from error
    return found
