"""The console script: by the engine's fork server where there is one that fits, else in this process. It is the Python of Dagster's runs, too."""

from __future__ import annotations

import sys

from incremental_assets.cli.shell import is_completing


def start() -> None:
    """Run the command of the command line, and end as it ends. A command answers to Ctrl-C itself, once it has begun."""
    try:
        _begin()
    except KeyboardInterrupt:
        from incremental_assets.cli.answer import INTERRUPTED
        from incremental_assets.cli.ending import sentence

        sys.stderr.write(f"{sentence(INTERRUPTED)}\n")
        sys.exit(INTERRUPTED)


def _begin() -> None:
    if is_completing():
        from incremental_assets.cli.main import main

        main()
    from incremental_assets.adapters.fork_server.client import run
    from incremental_assets.resources.home import engine_folder

    if "-c" in sys.argv:
        from incremental_assets.adapters.fork_server.runs import be_python, is_python

        if is_python(sys.argv[1:]):
            be_python(sys.argv[1:], engine_folder())
    code = run(sys.argv[1:], engine_folder())
    if code is not None:
        sys.exit(code)
    from incremental_assets.cli.main import main

    main()


if __name__ == "__main__":
    start()
