"""The rows of `verifications`: results of reconciliations, less the windows that were read again since."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, select, update

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.tables import is_table, names_of, verifications
from incremental_assets.core.model.cursor import dump_value, load_value
from incremental_assets.core.model.table import TableId
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window


def remember(connection: Connection, database: Database, table: TableId, verified: Verified) -> None:
    """Keep the newest."""
    row = names_of(table) | _columns(verified) | {"verified_at": database.now()}
    connection.execute(database.upsert(verifications, row))


def read_again(connection: Connection, table: TableId, window: Window) -> None:
    """Forget the drift that lay in a window which has just landed; nothing was verified by that, so the rest stays."""
    mine = is_table(verifications.c, table)
    row = connection.execute(select(verifications).where(mine, verifications.c.drift > 0)).one_or_none()
    if row is not None:
        left = verified_of(row).read_again(window)
        connection.execute(update(verifications).where(mine).values(_columns(left)))


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
