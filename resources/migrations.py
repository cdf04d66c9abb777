"""Dagster's migrations, read once in a process: at each of its files it imports all ninety again, to learn the name of the last one."""

from __future__ import annotations

from functools import cache

from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage.sql import ALEMBIC_SCRIPTS_LOCATION

_PLACE = "script_location"
_from_config = ScriptDirectory.from_config


def read_once() -> None:
    """Read Dagster's scripts once, from now on. The scripts of others, as our checkpoints', are read as before."""
    ScriptDirectory.from_config = _known  # type: ignore[method-assign]


@cache
def of_dagster() -> ScriptDirectory:
    """Dagster's scripts, with the last one's name already known."""
    config = Config()
    config.set_main_option(_PLACE, ALEMBIC_SCRIPTS_LOCATION)
    scripts = _from_config(config)
    scripts.get_current_head()
    return scripts


def _known(config: Config) -> ScriptDirectory:
    return of_dagster() if config.get_main_option(_PLACE) == ALEMBIC_SCRIPTS_LOCATION else _from_config(config)
