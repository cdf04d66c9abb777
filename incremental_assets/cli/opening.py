"""Opens a runtime for a command: finds the configuration file and Dagster's home."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.ending import ended_by_signals
from incremental_assets.cli.lines import say
from incremental_assets.core.config.load import CONFIG_VARIABLE, load
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import SelectionError, SetupError
from incremental_assets.core.observing.json_line import Level
from incremental_assets.demo.places import IN_CHECKOUT, PLACES, configuration_of, shipped

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = configuration_of(next(iter(PLACES)))
HERE = Path("sources.yaml")
"""The file that `init` writes, and that every command looks for before it takes the shipped one."""


def config_path(config: Path | None) -> Path | None:
    """`--config`, else the environment, else the one of this folder."""
    if config is not None:
        return config
    variable = os.environ.get(CONFIG_VARIABLE)
    if variable:
        return Path(variable)
    return HERE if HERE.is_file() else None


def config_option(path: Path, default: Path) -> str:
    """The option `--config` for a command in a message; empty where it reads this file by `default`."""
    return "" if path == default else f" --config {shlex.quote(str(path))}"


def configured(config: Path | None) -> Configuration:
    """The configuration; sets the environment so that Dagster's processes read the same one. Notes on stderr say so if it is the demo's, and where no connection is encrypted.

    Raises SelectionError where there is none and no checkout whose demo it could be.
    """
    path = config_path(config)
    if path is None and not IN_CHECKOUT:
        raise SelectionError(
            f"there is no {HERE} in this folder; name yours with --config, or write one with `incremental-assets init URL`"
        )
    if path is None and not Path.cwd().is_relative_to(_PACKAGE.parent):
        # After a forgotten `cd`, users would take the demo's tables for theirs.
        say(
            f"there is no {HERE} in this folder, so the configuration of the demo is used: {SHIPPED}; "
            "name yours with --config, or write one with `incremental-assets init URL`"
        )
    return configured_or_demo(config)


def configured_or_demo(config: Path | None) -> Configuration:
    """As `configured`, without the note on the demo, for commands that are meant for the demo as well."""
    configuration = load(config_path(config) or shipped(SHIPPED))
    for sentence in configuration.unencrypted:
        say(sentence, Level.WARNING)
    os.environ[CONFIG_VARIABLE] = str(configuration.path)
    return configuration


@contextmanager
def opened(configuration: Configuration, *, writes: bool = True) -> Iterator[Runtime]:
    """A runtime that is closed at the end, whatever happens, a signal included; it has opened nothing yet."""
    from incremental_assets.resources.runtime import Runtime

    runtime = Runtime(configuration, writes=writes)
    with ended_by_signals():
        try:
            yield runtime
        finally:
            runtime.close()


def dagster_home() -> Path:
    """The folder where Dagster stores, made and named in the environment so that every process of ours stores there. Raises SetupError where it can be none."""
    from incremental_assets.adapters.permissions import own_folder
    from incremental_assets.resources.home import HOME_VARIABLE, home_folder

    home = home_folder()
    try:
        own_folder(home)
        _link_settings(home, _PACKAGE.parent / "dagster.yaml")
    except OSError as error:
        raise SetupError(
            f"Dagster's run history cannot be kept in {home} ({error.strerror}); let this user write there, or name another folder by {HOME_VARIABLE}"
        ) from None
    os.environ[HOME_VARIABLE] = str(home)
    return home


def _link_settings(home: Path, settings: Path) -> None:
    """Dagster wants its settings in the folder where it stores, and complains at every start if there are none."""
    there = home / "dagster.yaml"
    if there.exists() or there.is_symlink():
        return
    # Another command may be quicker at this moment.
    with suppress(FileExistsError):
        if settings.is_file():
            there.symlink_to(settings)
        else:
            with there.open("x", encoding="utf-8") as file:
                file.write("telemetry:\n  enabled: false\n")
