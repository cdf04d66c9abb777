"""Commands that an error offers as its cure: each works as printed."""

from __future__ import annotations

import shlex

from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.strategies import Strategy, traits_of

COMMAND = "`incremental-assets "
"""How each begins."""
DOCTOR, STATUS = "`incremental-assets doctor`", "`incremental-assets status`"
RUNS_OF_A_TABLE = "`incremental-assets rollback --select TABLE`"
"""List the runs that a copy can be taken back to; TABLE is left to the reader."""
BACK_TO_A_RUN = "`incremental-assets rollback --select TABLE --to-run RUN --yes`"
"""Take a copy back; TABLE and RUN are left to the reader."""
LOAD_AGAIN = "`incremental-assets sync --select TABLE --full-refresh`"
"""Replace a copy by what its source has now; TABLE is left to the reader."""
GO_ON_ELSEWHERE = "`incremental-assets reset --select TABLE --accept-source --yes`"
"""Go on with the server that has taken the place of another; TABLE is left to the reader."""

DEPLOYMENT = "`incremental-assets docs deployment`"
"""The page that has the bucket's policy, and what a cluster needs."""

NO_TEXTS = "{!r} holds numbers, not texts of moments"
"""Of a cursor of times, for its column."""
NO_TEXTS_CURE = (
    "declare `cursor: {{column: {0}, type: integer}}` where they are whole and grow with every change, such as seconds or milliseconds since 1970; "
    "else add a generated column that shows them as texts, such as `datetime({0})` of Julian days, take it, and leave this one out: `columns: {{exclude: [{0}]}}`"
)
"""For its column."""


def add_table(table: TableId) -> str:
    """Propose and write the terms of one more table of a source that the file has."""
    return f"`incremental-assets init --tables {shlex.quote(render_table(table.schema, table.name))}`"


def full_refresh(spec: TableSpec, *, landed_by: Strategy | None = None) -> str:
    """Read everything again and replace the copy; `--yes` where versions of rows that only the copy holds would go.

    `landed_by`: the strategy of the rows that are there; None where it is the one of now.
    """
    meant = " --yes" if any(traits_of(each).keeps_versions for each in (spec.strategy, landed_by) if each) else ""
    return f"`incremental-assets sync --select {_quoted(spec.id)} --full-refresh{meant}`"


def full_refresh_of(table: TableId) -> str:
    """As `full_refresh`, for a table of which only the name is known: always with the `--yes` that some strategies need."""
    return f"`incremental-assets sync --select {_quoted(table)} --full-refresh --yes`"


def allow_shrink(table: TableId) -> str:
    """Sync a table although rows are gone, or held, that should not be."""
    return f"`incremental-assets sync --select {_quoted(table)} --allow-shrink --yes`"


def accept_source(table: TableId) -> str:
    """Go on from the watermark with another database that holds the same rows."""
    return f"`incremental-assets reset --select {_quoted(table)} --accept-source --yes`"


def sync(table: TableId) -> str:
    """Land what has changed, or everything where nothing has landed."""
    return f"`incremental-assets sync --select {_quoted(table)}`"


def sync_now(table: TableId) -> str:
    """Look at once, also where the next look is not due yet."""
    return f"`incremental-assets sync --select {_quoted(table)} --now`"


def take_over(table: TableId) -> str:
    """Make this installation the one that writes a table of the lake."""
    return f"`incremental-assets reset --select {_quoted(table)} --take-over --yes`"


def resume(pause: Pause) -> str:
    """Let what is paused go on."""
    return f"`incremental-assets resume {shlex.quote(pause.what)}`"


def status(table: TableId) -> str:
    """Look at how its last sync ended."""
    return f"`incremental-assets status --select {_quoted(table)}`"


def check(table: TableId) -> str:
    """Compare the copy with its source."""
    return f"`incremental-assets check --select {_quoted(table)}`"


def repair(table: TableId) -> str:
    """Read again what a check has found to differ, by its keys."""
    return f"`incremental-assets repair --select {_quoted(table)}`"


def reset(spec: TableSpec) -> str:
    """Read everything again and keep what landed."""
    return _reset(spec.id)


def rollback(spec: TableSpec) -> str:
    """Take the copy back to what a run left; which one, a person has to say."""
    return f"`incremental-assets rollback --select {_quoted(spec.id)} --to-run RUN_ID --yes`"


def runs(spec: TableSpec) -> str:
    """List the runs that a copy can be taken back to."""
    return f"`incremental-assets rollback --select {_quoted(spec.id)}`"


def differing_again(spec: TableSpec) -> str:
    """Read again what differs in rows that no cursor shows: by their keys where there is one row of each, else everything."""
    if not (spec.read_by is not None and spec.traits.one_row_per_key):
        return f"read everything again with {reset(spec)}"
    return f"{check(spec.id)} counts them, and {repair(spec.id)} reads just these again"


def replay(table: TableId) -> str:
    """Read again what a contract holds."""
    return f"`incremental-assets replay --select {_quoted(table)}`"


def read_again(table: TableId, window: Window) -> str:
    """Read a window again; what has no beginning can only be read by a reset."""
    if window.lower is None:
        return _reset(table)
    until = f" --to {shlex.quote(window.upper.text)}" if window.upper is not None else ""
    return f"`incremental-assets backfill --select {_quoted(table)} --from {shlex.quote(window.lower.text)}{until}`"


def rows_hidden(table: TableId) -> str:
    """Why a table whose rows are filtered is not read, and what to do."""
    return (
        f"{table}: row-level security hides rows from the user that reads it, and a watermark would pass over them; "
        "grant that user BYPASSRLS, add a policy that shows it every row (`USING (true)`), or sync a view of the rows that are meant"
    )


def _reset(table: TableId) -> str:
    return f"`incremental-assets reset --select {_quoted(table)} --yes`"


def _quoted(table: TableId) -> str:
    return shlex.quote(str(table))
