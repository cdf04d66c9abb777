"""Capture by transactions: the number of the one that wrote a row (`xmin`, `rowversion`, `ora_rowscn`)."""

from incremental_assets.core.captures.database.following import FollowingCapture
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.cures import reset
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec


class Transaction(FollowingCapture):
    """Implements `Capture`."""

    def moved(self, spec: TableSpec, state: State) -> State:
        """Numbers of one server are none of another's."""
        raise SelectionError(
            f"{spec.id}: another server gives its transactions other numbers, so that the watermark says nothing there; "
            f"read the table again with {reset(spec)}"
        )

    def counted_by(self, spec: TableSpec) -> Cursor | None:
        """Its numbers count all transactions of the server, not the rows of a table."""
        return None


TRANSACTION = Transaction()
