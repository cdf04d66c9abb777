"""Does a shell ask how a command line goes on? Nothing is imported for it, as each command asks first."""

import os

COMPLETING = "_INCREMENTAL_ASSETS_COMPLETE"
"""By which it asks, as click reads it."""


def is_completing() -> bool:
    """Whether it does, and wants nothing done."""
    return COMPLETING in os.environ
