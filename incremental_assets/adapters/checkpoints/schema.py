"""Migrates a checkpoint database to the version of this program: no work in the common case, Alembic otherwise."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from incremental_assets.core.errors import CheckpointsTooNew

VERSION_TABLE = "checkpoints_version"  # Alembic's own name would meet that of Dagster's storage in the same database


@dataclass(frozen=True, slots=True)
class Schema:
    """The newest version, and where the scripts that lead to it lie."""

    latest: int
    scripts: Path
    versions: tuple[Path, ...]


_alembic = threading.Lock()
"""Alembic hands its connection to the scripts through globals of the process."""

_MIGRATIONS = Path(__file__).parent / "migrations"
SHIPPED = Schema(16, _MIGRATIONS, (_MIGRATIONS / "versions",))


def version_of(connection: Connection) -> int:
    """The database's version, 0 for an empty one."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return 0
    found = connection.execute(text("SELECT version_num FROM checkpoints_version")).scalar_one_or_none()
    return int(found or 0)


def check(connection: Connection, schema: Schema, name: str) -> bool:
    """Whether the database is of this program's version. Raises CheckpointsTooNew."""
    found = version_of(connection)
    if found > schema.latest:
        raise CheckpointsTooNew(
            f"the checkpoint database {name} is of version {found} and this program supports versions up to {schema.latest}: "
            "upgrade incremental-assets to the release that wrote it"
        )
    return found == schema.latest


def migrate(connection: Connection, schema: Schema) -> None:
    """Run what is missing inside the connection's transaction, which must already exclude every other migration."""
    # Only here: a process that finds its version does without Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _escaped(schema.scripts))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", "\n".join(_escaped(folder) for folder in schema.versions))
    config.attributes["connection"] = connection
    with _alembic:
        command.upgrade(config, "head")


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%%")  # the configuration reads % as the start of a reference
