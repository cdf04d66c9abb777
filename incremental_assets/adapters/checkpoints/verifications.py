"""The rows of `verifications`: results of reconciliations, less the windows that were read again since."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, select, update

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.tables import is_table, names_of, verifications
from incremental_assets.core.model.cursor import dump_value, load_value
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.report import SyncReport


def known_of(connection: Connection, table: TableId) -> Verified | None:
    """The last record of a table."""
    row = connection.execute(select(verifications).where(is_table(verifications.c, table))).one_or_none()
    return None if row is None else verified_of(row)


def remember(connection: Connection, database: Database, table: TableId, verified: Verified) -> None:
    """Keep the newest."""
    row = names_of(table) | _columns(verified) | {"verified_at": database.now()}
    connection.execute(database.upsert(verifications, row))


def after_landing(connection: Connection, report: SyncReport) -> None:
    """Keep what a landing leaves of the record; nothing was verified by it, so its moment stays."""
    known = known_of(connection, report.table)
    left = known and report.leaves(known)
    if left and left != known:
        connection.execute(update(verifications).where(is_table(verifications.c, report.table)).values(_columns(left)))


def verified_of(row: Any) -> Verified:
    """The content of a row."""
    if row.drifted is None:
        return Verified(row.verified_through, (Drifted(Window(None, None), row.drift),) if row.drift else ())
    document = json.loads(row.drifted)
    # Before there was a `reached`, the pieces were all that was kept.
    pieces, reached = (document, None) if isinstance(document, list) else (document["pieces"], document["reached"])
    windows = ((Window(load_value(lower), load_value(upper)), rows) for lower, upper, rows in pieces)
    return Verified(row.verified_through, tuple(Drifted(window, rows) for window, rows in windows), reached)


def _columns(verified: Verified) -> dict[str, Any]:
    pieces = [
        [dump_value(piece.window.lower), dump_value(piece.window.upper), piece.rows] for piece in verified.drifted
    ]
    drifted = json.dumps({"pieces": pieces, "reached": verified.reached})
    return {"verified_through": verified.through, "drift": verified.drift, "drifted": drifted}
