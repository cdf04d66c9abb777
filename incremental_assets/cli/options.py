"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Verb = TypeVar("Verb", bound=Callable[..., Any])


def everywhere(verb: Verb) -> Verb:
    """The options that every verb has."""
    config = click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The configuration; default: $INCREMENTAL_ASSETS_CONFIG, else ./sources.yaml, else the shipped one.",
    )
    return config(
        click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, whatever happens.")(verb)
    )


def select(verb: Verb) -> Verb:
    """`--select`, for verbs that work on tables."""
    return click.option(
        "--select",
        multiple=True,
        metavar="GLOB",
        help="Only these tables: source.schema.table or schema.table. Repeatable.",
    )(verb)


def yes(verb: Verb) -> Verb:
    """`--yes`, for verbs that may destroy something."""
    return click.option("--yes", is_flag=True, help="Do it, though it is destructive.")(verb)
