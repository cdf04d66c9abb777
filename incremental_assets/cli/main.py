"""`incremental-assets COMMAND`: one function per command, each passed on to its module in `commands`; those that sync are in `syncing_commands`.

Only click is imported here: `--help` answers at once, and a command loads what it needs itself.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import incremental_assets.cli.syncing_commands  # noqa: F401 - registers its commands
from incremental_assets.cli.entrypoint import run
from incremental_assets.cli.group import commands
from incremental_assets.cli.options import everywhere, select
from incremental_assets.demo.places import LAKES, PLACES, SOURCES, configuration_of, shipped

if TYPE_CHECKING:
    from incremental_assets.cli.answer import Answer


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script."""
    # Imported modules stay: the garbage collector need not visit them again and again, nor once more at exit, which took a second.
    gc.set_threshold(50_000)
    code = run(commands, sys.argv[1:] if arguments is None else arguments)
    gc.freeze()
    sys.exit(code)


@commands.command()
@everywhere
@click.option(
    "--scale",
    type=click.FloatRange(min=0.001, max=100),
    default=0.1,
    show_default=True,
    help="TPC-H scale factor; 1 is 8.6 million rows.",
)
@click.option(
    "--source",
    type=click.Choice(SOURCES),
    help=f"What is synced; `log` is the default database, read from its log, `binlog` another one, read from its binlog, and `files` a folder into which files are dropped.  [default: {next(iter(PLACES))}]",
)
@click.option(
    "--lake", type=click.Choice(LAKES), help="Where the copies are: a store that speaks S3.  [default: a folder]"
)
@click.option(
    "--fresh/--keep",
    default=True,
    help="Start from empty folders (default), or simulate another day on the existing data.",
)
def demo(config: Path | None, scale: float, **options: Any) -> Answer:
    """A real database synced into Delta twice, and proven equal.

    Starts an embedded database with TPC-H data, syncs it, lets a day pass (inserts, updates, deletes, a late commit, a stamp
    from the future), syncs again, then compares rows and hashes of both sides, each counted by its own engine.
    """
    from incremental_assets.cli.commands import demo as command

    named = {f"--{name}": options[name] for name in ("source", "lake") if options[name] is not None}
    if len(named) + (config is not None) > 1:
        raise click.UsageError(
            f"{' and '.join(named)} {'names' if len(named) == 1 else 'name'} a configuration that is shipped: give one of --source, --lake and --config"
        )
    for name in named.values():
        config = shipped(configuration_of(name))
    return command.run(config, command.Options(scale=Decimal(str(scale)), fresh=options["fresh"]))


@commands.command()
@everywhere
@click.option(
    "--port", type=click.IntRange(1, 65535), default=3000, show_default=True, help="Port of Dagster's UI on 127.0.0.1."
)
def dev(config: Path | None, port: int, **_: Any) -> Answer:
    """Dagster's UI and daemon, until Ctrl-C.

    With the shipped configuration, the demo's database is started too. The UI has no authentication: it stays on 127.0.0.1.
    """
    from incremental_assets.cli.commands import dev as command

    return command.run(config, port)


@commands.command()
@click.argument("url", required=False)
@click.option(
    "--tables",
    multiple=True,
    metavar="GLOB",
    help="Only these tables: schema.table. Repeatable. Without a URL they are added to the file that is there.",
)
@everywhere
def init(config: Path | None, url: str | None, tables: tuple[str, ...], **_: Any) -> Answer:
    """Write a sources.yaml from a catalogue, or add tables to one.

    URL is postgresql://user@host:port/database, the same with mariadb or mysql (and sqlserver or oracle, where their package is installed), or sqlite:///path. A password is read from the environment variable <DATABASE>_PASSWORD
    and stays there. Writes ./sources.yaml, or the file of --config, and never over one that is there.

    \b
    incremental-assets init postgresql://sync_reader@localhost/shop
    incremental-assets init --tables 'sales.*'      adds these tables of its sources to the file that is there
    """
    from incremental_assets.cli.commands import init, init_tables

    if url is None and not tables:
        raise click.UsageError("name a database's URL, or with --tables the tables to add to the file that is there")
    return init_tables.run(config, tables) if url is None else init.run(config, url, tables)


@commands.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@everywhere
def completion(shell: str, **_: Any) -> Answer:
    """Print what makes a shell complete commands and tables.

    \b
    bash: incremental-assets completion bash > ~/.local/share/bash-completion/completions/incremental-assets
    zsh:  incremental-assets completion zsh > a file that ~/.zshrc sources
    fish: incremental-assets completion fish > ~/.config/fish/completions/incremental-assets.fish
    """
    from incremental_assets.cli.commands import completion as command

    return command.run(shell)


@commands.command()
@everywhere
@select
def discover(config: Path | None, select: tuple[str, ...], **_: Any) -> Answer:
    """Propose entries for tables that are not listed yet.

    Key, cursor candidates by fitness, strategy and what to fix, per table of each configured source; the file stays as it is.
    """
    from incremental_assets.cli.commands import discover as command

    return command.run(config, select)


@commands.command()
@everywhere
@select
def plan(config: Path | None, select: tuple[str, ...], **_: Any) -> Answer:
    """What would the next sync do? Nothing is written.

    Per table the SQL, the window, the rows that the source expects, the index, the guarantee, schema changes, files, and what would be
    destroyed. Takes no lease and starts no Spark; exit 1 if a table would stop.
    """
    from incremental_assets.cli.commands import plan as command

    return command.run(config, select)


@commands.command()
@everywhere
@select
@click.option("--offline", is_flag=True, help="Do not ask the source: show what the checkpoints know.")
def status(config: Path | None, select: tuple[str, ...], offline: bool, **_: Any) -> Answer:  # noqa: FBT001
    """Watermark, lag, last run, guarantee and drift, per table."""
    from incremental_assets.cli.commands import status as command

    return command.run(config, select, offline=offline)


@commands.command()
@everywhere
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Serve them there until Ctrl-C; without it they are printed once."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve them on.")
def metrics(config: Path | None, port: int | None, host: str, **_: Any) -> Answer:
    """What the checkpoint database knows, for Prometheus.

    Asks no source and starts no Spark: a scrape costs a few light queries. There is no authentication, so that it stays on 127.0.0.1
    unless you choose another address.
    """
    from incremental_assets.cli.commands import metrics as command

    return command.run(config, host, port)


@commands.command()
@everywhere
@click.option(
    "--runbooks",
    default="docs/runbooks",
    show_default=True,
    help="Where your copy of the runbooks is, for their links.",
)
def alerts(config: Path | None, runbooks: str, **_: Any) -> Answer:
    """Rules for Prometheus, by the objectives of the configuration.

    Recording rules and alerts over what `metrics` exports, one set for all tables. An objective that could never alert, or always would, is
    refused (exit 2).
    """
    from incremental_assets.cli.commands import alerts as command

    return command.run(config, runbooks)


@commands.command()
@everywhere
@click.argument("name", type=click.Choice(("service", "work", "sources")))
def dashboards(name: str, **_: Any) -> Answer:
    """A dashboard for Grafana, as JSON: service, work or sources.

    Over what `metrics` exports and the rules of `alerts` record, one set for all tables.
    """
    from incremental_assets.cli.commands import dashboards as command

    return command.run(name)


@commands.command()
@everywhere
@click.argument("page", required=False)
def docs(page: str | None, **_: Any) -> Answer:
    """Show a page of the documentation, or list all of them.

    The pages of this very version, in Markdown, as they come with the package: those that messages name, the runbooks, the reference.
    """
    from incremental_assets.cli.commands import docs as command

    return command.run(page)


@commands.command()
@everywhere
@select
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Rows shown.")
def audit(config: Path | None, select: tuple[str, ...], limit: int, **_: Any) -> Answer:
    """Who paused, reset, rolled back or refreshed what, and why?

    From the checkpoint database alone, the newest first: who asked, when, for which tables, with which reason, and what their run has recorded last.
    """
    from incremental_assets.cli.commands import audit as command

    return command.run(config, select, limit)


@commands.command()
@everywhere
@select
def coverage(config: Path | None, select: tuple[str, ...], **_: Any) -> Answer:
    """Which windows have landed, and does Dagster say the same?

    Compares the partitions that Dagster shows as materialized with the ledger in the checkpoint table, without asking the source; exit 1
    for a gap below the watermark, and for a partition that was announced and has not been covered.
    """
    from incremental_assets.cli.commands import coverage as command

    return command.run(config, select)


@commands.command()
@everywhere
@select
@click.option("--failed", is_flag=True, help="Show only the checks that have not passed.")
@click.option("--strict", is_flag=True, help="What could not be checked, as nothing has landed yet, is an error.")
def check(config: Path | None, select: tuple[str, ...], failed: bool, strict: bool, **_: Any) -> Answer:  # noqa: FBT001
    """Is every copy fresh, unique, equal to its source?

    Freshness, duplicates, reconciliation and schema of each table, what failed first; exit 1 if one of them fails as an error.
    Dagster's UI shows the same results.
    """
    from incremental_assets.cli.commands import check as command

    return command.run(config, select, command.Options(only_failed=failed, is_strict=strict))


@commands.command()
@everywhere
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
def peek(config: Path | None, tables: tuple[str, ...], **_: Any) -> Answer:
    """What a table looks like: columns and ten rows of both sides.

    The first rows that come, in no order, and without Spark. Values of `pii` columns are never shown.
    """
    from incremental_assets.cli.commands import peek as command

    return command.run(config, tables)


@commands.command()
@everywhere
@select
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Rows shown of a table.")
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write them to this file, a line per value; nobody else may read it.",
)
def diff(config: Path | None, select: tuple[str, ...], limit: int, csv_file: Path | None, **_: Any) -> Answer:
    """Which rows of a copy differ from its source, in which values?

    What `check` counts, row by row: the key, the columns, and the value of either side; exit 1 if a row differs that the
    next sync does not bring. Values of columns that are declared `pii` are hidden.
    """
    from incremental_assets.cli.commands import diff as command

    return command.run(config, select, command.Options(limit, csv_file))


@commands.command()
@everywhere
@select
@click.option(
    "--sql", is_flag=True, help="Print the role, grants and indexes that are missing, for an administrator to run."
)
@click.option(
    "--fix",
    is_flag=True,
    help="Write into the configuration what is proposed for it and leaves nothing to choose; the change is shown.",
)
def doctor(config: Path | None, select: tuple[str, ...], sql: bool, fix: bool, **_: Any) -> Answer:  # noqa: FBT001
    """Is everything there that a sync needs?

    Java, jars, the source, what its user may do, and whether each cursor can be followed; what is missing comes with its cure.
    """
    if sql and fix:
        raise click.UsageError("--sql is for an administrator and --fix for the configuration; use one of them")
    from incremental_assets.cli.commands import doctor as command

    return command.run(config, select, sql=sql, fix=fix)


@commands.command()
@everywhere
def setup(**_: Any) -> Answer:
    """Fetch what pip does not: the jars of Delta and JDBC.

    Each is checked against its hash. Also makes the class-data archive with which Spark's JVM starts sooner. Once per machine; a second
    time it does nothing.
    """
    from incremental_assets.cli.commands import setup as command

    return command.run()


@commands.command()
@click.argument("action", type=click.Choice(["start", "stop", "status"]))
@everywhere
def engine(config: Path | None, action: str, **_: Any) -> Answer:
    """Keep Spark warm: start, stop or show the engine.

    A local Spark Connect server of your own, on loopback, that every run finds and uses; without one each run starts Spark itself.
    `status` ends with 1 where no engine runs that runs can use.
    """
    from incremental_assets.cli.commands import engine as command

    return command.run(config, action)


@commands.command()
@click.argument("action", type=click.Choice(["status", "add", "remove"]))
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@everywhere
def capture(config: Path | None, action: str, tables: tuple[str, ...], **_: Any) -> Answer:
    """Look after the logs that tables are read from.

    `status` says what the source keeps for each slot, why, and where every table stands; it ends with 1 where a log cannot be read on. `add` prints what is
    missing in the source for tables that are configured with `capture: log`, `remove` keeps nothing more for tables that are so no longer.
    """
    from incremental_assets.cli.commands import capture as command

    return command.run(config, action, tables)


@commands.command()
@everywhere
def schema(**_: Any) -> Answer:
    """The JSON Schema of sources.yaml, for editors."""
    from incremental_assets.cli.commands import schema as command

    return command.run()
