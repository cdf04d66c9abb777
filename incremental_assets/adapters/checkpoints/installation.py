"""Which checkpoint database this is, and where it stands."""

from __future__ import annotations

import getpass
import uuid
from pathlib import Path

from sqlalchemy import select

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.tables import installation
from incremental_assets.adapters.process import machine_name
from incremental_assets.core.model.installation import Installation

_HERE = ("", "localhost", "127.0.0.1", "::1")
_ONLY = 1


def installation_of(database: Database) -> Installation:
    """The database's own, which is made at the first question."""
    with database.transaction() as connection:
        found = connection.execute(select(installation.c.id)).scalar()
    if found is None:
        with database.transaction(writes=True) as connection:
            connection.execute(database.insert_missing(installation, {"only": _ONLY, "id": uuid.uuid4().hex}))
            found = connection.execute(select(installation.c.id)).scalar_one()
    host, machine = machine_name()
    return Installation(found, _place(database, machine), database.name, _user(), host)


def _place(database: Database, machine: str) -> str:
    """At one place there is one database at a time: a file of this machine, or a server's database wherever it is asked."""
    if database.file is not None:
        return f"{machine}:{Path(database.file).resolve()}"
    is_here = database.host in _HERE or database.host.startswith("/")
    return f"{machine if is_here else database.host}:{database.port}/{database.database}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "a user without a name"
