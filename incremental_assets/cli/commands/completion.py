"""`completion`: the script by which a shell completes commands, options and names of tables."""

from __future__ import annotations

from click.shell_completion import get_completion_class

from incremental_assets.cli.answer import Answer, Note
from incremental_assets.cli.group import commands
from incremental_assets.cli.shell import COMPLETING


def run(shell: str) -> Answer:
    """The script, to be read by the shell when it starts."""
    made = get_completion_class(shell)
    if made is None:
        raise ValueError(f"click knows no shell {shell!r}")
    completing = made(commands, {}, "incremental-assets", COMPLETING)
    # Without `source`, which starts a bash to ask for its version.
    script = (completing.source_template % completing.source_vars()).strip()
    return Answer({"shell": shell, "script": script}, (Note(script, wrap=False),))
