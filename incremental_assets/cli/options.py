"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from incremental_assets.cli.completing import tables
from incremental_assets.cli.lines import JSON, LOG_FORMAT, TEXT

QUIET = "--quiet"
Command = TypeVar("Command", bound=Callable[..., Any])


def everywhere(command: Command) -> Command:
    """The options that every command has."""
    config = click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The configuration; default: $INCREMENTAL_ASSETS_CONFIG, else ./sources.yaml, else the shipped one.",
    )
    quiet = click.option(
        QUIET,
        is_flag=True,
        expose_value=False,
        help="Print nothing where all is well: warnings and errors alone.",
    )
    log_format = click.option(
        LOG_FORMAT,
        type=click.Choice((TEXT, JSON)),
        default=TEXT,
        expose_value=False,
        help="What is written to stderr: sentences for people, or a JSON object per line, with what happens to each table.",
    )
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document on stdout, even after an error."
    )
    return config(as_json(quiet(log_format(command))))


def select(command: Command) -> Command:
    """`--select`, for commands that work on tables."""
    return click.option(
        "--select",
        multiple=True,
        metavar="GLOB",
        shell_complete=tables,
        help="Only these tables: source.schema.table or schema.table. Repeatable.",
    )(command)


def reason(command: Command) -> Command:
    """`--reason`, for commands that the audit keeps."""
    return click.option("--reason", default="", help="Why, for `audit`.")(command)


def yes(command: Command) -> Command:
    """`--yes`, for commands that may destroy something."""
    return click.option("--yes", is_flag=True, help="Confirm a destructive command.")(command)
