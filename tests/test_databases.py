"""No module but those of its own folder knows a database by name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN = {
    "incremental_assets/adapters/databases/postgresql",
    "incremental_assets/adapters/databases/sqlite",
    "incremental_assets/adapters/databases/mysql",
    "incremental_assets/adapters/databases/sqlserver",
    "incremental_assets/adapters/databases/oracle",
    # The demo's source is a PostgreSQL, and the checkpoints lie in either of the two.
    "incremental_assets/demo",
    "incremental_assets/adapters/checkpoints",
    "incremental_assets/cli/commands/demo",
    "incremental_assets/cli/commands/dev.py",
}
WORDS = {
    "incremental_assets/core/config/dialects.py": "the words of the configuration",
    "incremental_assets/core/config/addresses.py": "the address of the checkpoints",
    "incremental_assets/core/config/document.py": "an example of the address of the checkpoints",
    "incremental_assets/core/config/validate.py": "an example in a message",
    "resources/event_log.py": "Dagster's own event log",
    "incremental_assets/cli/preloaded.py": "Dagster's own event log, and the driver of its files",
    "incremental_assets/adapters/databases/registry.py": "the folder that a dialect shares",
}
NAMES = re.compile(r"postgres|psycopg|\bpg_|sqlite|mysql|mariadb|oracle|sqlserver|mssql|pytds", re.IGNORECASE)


def code(text: str) -> str:
    """Without docstrings and comments, in which a database may be an example."""
    return re.sub(r'"""(?:[^"]|"(?!""))*"""|#.*|description="[^"]*"', "", text)


def test_no_module_outside_its_folder_names_a_database() -> None:
    files = [*ROOT.glob("incremental_assets/**/*.py"), *ROOT.glob("resources/*.py")]
    named = {
        str(path.relative_to(ROOT))
        for path in files
        if NAMES.search(code(path.read_text(encoding="utf-8")))
        and not any(str(path.relative_to(ROOT)).startswith(own) for own in OWN)
    }
    assert named == set(WORDS)
