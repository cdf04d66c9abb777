"""The commands that read tables or move their watermarks, one function each; see `main`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from incremental_assets.cli.group import commands
from incremental_assets.cli.options import everywhere, reason, select, yes
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.cures import RUNS_OF_A_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from incremental_assets.cli.answer import Answer


@commands.command()
@everywhere
@select
@click.option("--full-refresh", is_flag=True, help="Read everything again, whatever the watermark says.")
@click.option(
    "--allow-shrink", is_flag=True, help="Accept a source that has lost more than half of its rows (needs --yes)."
)
@click.option(
    "--now",
    is_flag=True,
    help="Look at tables that are read or compared at intervals, or by a schedule, before it is time.",
)
@click.option(
    "--follow", is_flag=True, help="Go on until Ctrl-C: look at each source in its `every`, sync what changed."
)
@click.option("--reset-watermarks", is_flag=True, help="The same as the command reset (needs --yes).")
@yes
@reason
def sync(
    config: Path | None,
    select: tuple[str, ...],
    reset_watermarks: bool,  # noqa: FBT001
    follow: bool,  # noqa: FBT001
    **options: Any,
) -> Answer | Iterator[Answer]:
    """Bring tables up to date, through Dagster, with progress.

    Unchanged tables are finished without Spark. One table's failure never stops the others.
    """
    if reset_watermarks:
        from incremental_assets.cli.commands import reset as other

        _alone(
            {"follow": follow, **options}, "`--reset-watermarks` reads nothing, so that `{}` has no effect beside it"
        )
        return other.run(config, select, to=None, yes=options["yes"], reason=options["reason"])
    if options["reason"] and not options["full_refresh"]:
        raise SelectionError("`--reason` is kept of what `--full-refresh` replaces; leave it out")
    if follow:
        from incremental_assets.cli.commands import follow as following

        _alone(options, "`--follow` syncs what has changed, again and again, so that `{}` has no place beside it")
        return following.run(config, select)
    from incremental_assets.cli.commands import sync as command

    return command.run(
        config,
        select,
        command.Options(**{name: options[name] for name in ("full_refresh", "allow_shrink", "now", "yes", "reason")}),
    )


def _alone(options: Mapping[str, bool], sentence: str) -> None:
    """Raises SelectionError where a flag is given that another one excludes."""
    for name in ("full_refresh", "allow_shrink", "now", "follow"):
        if options.get(name):
            raise SelectionError(f"{sentence.format('--' + name.replace('_', '-'))}; leave one of the two out")


@commands.command()
@everywhere
@select
@reason
def replay(config: Path | None, select: tuple[str, ...], reason: str, **_: Any) -> Answer:
    """Read rows again that a contract holds in quarantine.

    They are read from the source as they are now. Those that pass land and are marked as replayed; those that are gone from the source are
    marked so; the others stay held. Of use after a contract was corrected, or rows were fixed without moving their cursor.
    """
    from incremental_assets.cli.commands import replay as command

    return command.run(config, select, reason)


@commands.command()
@everywhere
@select
def repair(config: Path | None, select: tuple[str, ...], **_: Any) -> Answer:
    """Repair the drift that `check` has found.

    Compares the drifted windows by key, reads the rows that differ again, deletes what is gone where deletes are followed, and checks
    these windows again; exit 1 if drift is left. The watermark stays.
    """
    from incremental_assets.cli.commands import repair as command

    return command.run(config, select)


@commands.command()
@everywhere
@select
@click.option(
    "--from",
    "lower",
    required=True,
    metavar="A",
    help="First cursor value or day to read again, such as 2024-01-01 or 0.",
)
@click.option("--to", "upper", metavar="B", help="The first value that is not read; default: everything up to now.")
@click.option(
    "--windows-per-run",
    type=click.IntRange(min=1),
    help="Partitions that one run reads in one window; default: `backfill: {windows: …}`, which is 12.",
)
@click.option(
    "--connections",
    type=click.IntRange(min=1),
    help="Connections to the source at once; default: `backfill: {connections: …}`, at most `parallel: {connections: …}`.",
)
@click.option(
    "--pause",
    metavar="DURATION",
    help="Pause between two runs, such as 30s; default: `backfill: {pause: …}`, which is 0s.",
)
@click.option("--again", is_flag=True, help="Also read windows that this backfill has already landed.")
def backfill(config: Path | None, select: tuple[str, ...], **options: Any) -> Answer:
    """Read windows of one table again. The watermark stays.

    Stopped at any moment, the same command resumes where it stopped.
    """
    from incremental_assets.cli.commands import backfill as command

    options.pop("as_json")
    return command.run(config, select, command.Options.of(**options))


@commands.command()
@everywhere
@select
@click.option(
    "--to", metavar="VALUE", help="The new watermark; default: before everything, so that the next sync reads it all."
)
@click.option(
    "--accept-source",
    is_flag=True,
    help="Keep the watermark and continue with the database that answers now: after an upgrade that moved the same rows to a new server.",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Keep the watermark and make this installation the one that writes the tables: after another one that wrote them is gone.",
)
@yes
@reason
def reset(config: Path | None, select: tuple[str, ...], to: str | None, **options: Any) -> Answer:
    """Rewind watermarks, with a row in the audit trail.

    The next sync reads again from there. Needs --yes; without it, says what would happen.
    """
    from incremental_assets.cli.commands import reset as command

    if options["take_over"]:
        from incremental_assets.cli.commands import take_over

        if options["accept_source"]:
            raise SelectionError("--take-over and --accept-source are two steps: give one after the other")
        return take_over.run(config, select, to=to, yes=options["yes"], reason=options["reason"])
    if options["accept_source"]:
        from incremental_assets.cli.commands import accept_source as other

        return other.run(config, select, to=to, yes=options["yes"], reason=options["reason"])
    return command.run(config, select, to=to, yes=options["yes"], reason=options["reason"])


@commands.command()
@everywhere
@select
def prune(config: Path | None, select: tuple[str, ...], **_: Any) -> Answer:
    """Remove now what `retention` lets go.

    Old versions of histories, settled rows of quarantines and files of old versions, for each table whose `retention` says how long they stay, under its lease. Dagster's job does the same once a day; `plan` says
    before what would go.
    """
    from incremental_assets.cli.commands import prune as command

    return command.run(config, select)


@commands.command()
@click.argument("names", nargs=-1, required=True, metavar="SOURCE[.TABLE]...")
@click.option("--reason", required=True, help="Why, for whoever finds it paused.")
@everywhere
def pause(config: Path | None, names: tuple[str, ...], reason: str, **_: Any) -> Answer:
    """Let nobody write a table, or a source, until `resume`.

    No sync, sensor, backfill, repair or replay writes what is paused, whichever process or machine it works on; the others go on. A run that has begun
    still ends. What you confirm by --yes (`reset`, `rollback`) is not stopped by it.
    """
    from incremental_assets.cli.commands import pause as command

    return command.run(config, names, reason)


@commands.command()
@click.argument("names", nargs=-1, required=True, metavar="SOURCE[.TABLE]...")
@everywhere
def resume(config: Path | None, names: tuple[str, ...], **_: Any) -> Answer:
    """Let what was paused go on.

    The next look or sync reads from the watermark, so that nothing is lost."""
    from incremental_assets.cli.commands import pause as command

    return command.resume(config, names)


@commands.command()
@everywhere
@click.option("--table", required=True, metavar="SOURCE.SCHEMA.TABLE", help="The table whose rows are to be erased.")
@click.option(
    "--key-file",
    required=True,
    type=click.Path(path_type=Path),
    help="A file of keys, one in each line: the value, or a JSON object of columns, in which others than the key are looked for in texts too.",
)
@click.option("--certificate", type=click.Path(path_type=Path), help="Write the certificate, as JSON, to this file.")
@yes
@reason
def erase(config: Path | None, **options: Any) -> Answer:
    """Erase the rows of some keys for good, and prove it.

    From the copy, its history, its quarantine, what is staged, every earlier version, logs, the checkpoint database and Dagster's home; no sync brings
    them back. Everything that is left is decoded and searched afterwards. Needs --yes; without it, says where something was found. Exit 1 if something is left.
    """
    from incremental_assets.cli.commands import erase as command

    options.pop("as_json")
    return command.run(config, command.Options(**options))


@commands.command()
@everywhere
@select
@click.option("--to-run", metavar="ID", help="The run whose rows are to be there again; without it, runs are listed.")
@yes
@reason
def rollback(config: Path | None, select: tuple[str, ...], to_run: str | None, **options: Any) -> Answer:
    """Take copies back to an earlier run, with an audit row.

    Rows, columns, quarantine, watermark and coverage are those that the run left; the next sync reads from there. Needs --yes; without it,
    says what would happen. Without --to-run, lists the last runs of each table with their ids and what they landed.
    """
    if to_run is None:
        if options["yes"]:
            raise SelectionError(f"--to-run is missing: {RUNS_OF_A_TABLE} lists the runs of a table")
        from incremental_assets.cli.commands import rollback_runs as listing

        return listing.run(config, select)
    from incremental_assets.cli.commands import rollback as command

    return command.run(config, select, to_run=to_run, yes=options["yes"], reason=options["reason"])
