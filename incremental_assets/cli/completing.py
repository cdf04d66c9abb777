"""What a shell is answered that completes a command line. Only what is asked for is loaded, and nothing is ever said of an error."""

from __future__ import annotations

from contextlib import suppress

import click
from click.shell_completion import CompletionItem


def tables(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """The tables that the configuration lists; those that only the source knows are not asked for."""
    from incremental_assets.cli.opening import configured
    from incremental_assets.core.errors import IncrementalAssetsError

    with suppress(IncrementalAssetsError, OSError):
        sources = configured(context.params.get("config")).sources
        named = [str(table.id(source.name)) for source in sources for table in source.tables]
        return [CompletionItem(name) for name in named if name.startswith(begun)]
    return []
