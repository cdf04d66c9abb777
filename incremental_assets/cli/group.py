"""The command line's own help, under which each command registers."""

from __future__ import annotations

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="incremental-assets", prog_name="incremental-assets")
def commands() -> None:
    """Incremental sync of database tables into Delta Lake, as Dagster assets.

    \b
    Exit status: 0 done, 1 a table or a check failed, 2 the configuration or the command line is wrong,
    3 refused because it is destructive and --yes is missing, 4 busy because another run holds the table.
    """
