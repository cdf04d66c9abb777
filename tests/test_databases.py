"""No module but those of its own folder knows a database by name. The dialects come from the configuration; WORDS has the modules that may name one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from incremental_assets.adapters.databases.registry import folder_of
from incremental_assets.core.config.dialects import BUILT_IN, kind_of

ROOT = Path(__file__).parents[1]
DATABASES = "incremental_assets.adapters.databases"
FOLDERS = {f"{DATABASES}.{folder_of(name)}" for name in BUILT_IN}
OWN = {
    *(f"{folder.replace('.', '/')}/" for folder in FOLDERS),
    # The demo's source is a PostgreSQL, and the checkpoints lie in either of the two.
    "incremental_assets/demo",
    # The readers of their logs, which lie beside the readers of their rows.
    "incremental_assets/adapters/logs/postgresql/",
    "incremental_assets/adapters/logs/mysql/",
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
    "incremental_assets/adapters/erasure/in_files.py": "the checkpoints and Dagster's own event log, as files",
    "incremental_assets/adapters/erasure/redacting.py": "the same, written anew",
    "incremental_assets/adapters/erasure/sqlite_file.py": "the pages of these files",
    "incremental_assets/defs/announcing.py": "Dagster's own event log",
    "incremental_assets/cli/preloaded.py": "Dagster's own event log, and the driver of its files",
    "incremental_assets/adapters/topics/source_order.py": "connectors, in the words of an event",
    "incremental_assets/adapters/databases/registry.py": "the folder that a dialect shares",
}
NAMES = re.compile("|".join({*BUILT_IN, *map(kind_of, BUILT_IN), "psycopg", r"\bpg_"}), re.IGNORECASE)
"""Of dialects, as we and Dagster name them, and of drivers that are called otherwise."""


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


def test_import_linter_keeps_every_folder_apart_from_the_others_and_from_what_they_share() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known, apart = (
        next(each for each in config["tool"]["importlinter"]["contracts"] if each["name"].startswith(begin))
        for begin in ("A database is known", "One database knows")
    )
    beside = {
        f"{DATABASES}.{path.stem}"
        for path in (ROOT / DATABASES.replace(".", "/")).glob("[!_]*")
        if (path / "__init__.py").exists() or path.suffix == ".py"
    }
    assert set(known["forbidden_modules"]) == set(apart["modules"]) == FOLDERS
    assert {name for name in known["source_modules"] if name.startswith(f"{DATABASES}.")} == beside - FOLDERS


def test_every_database_is_played_by_the_contract_of_all() -> None:
    for name in BUILT_IN:
        suite = ROOT / "tests" / "adapters" / "databases" / f"test_{name}.py"
        assert "from tests.adapters.databases.contract import *" in suite.read_text(encoding="utf-8")
