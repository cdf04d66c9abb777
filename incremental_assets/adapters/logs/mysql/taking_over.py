"""Goes on with the binlog of a server that has taken the place of another: by the numbers of its transactions, as its files and places are its own."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.logs.mysql.fitness import gtids
from incremental_assets.adapters.logs.mysql.look import Look
from incremental_assets.adapters.logs.mysql.place import Place, file_name
from incremental_assets.adapters.logs.segments.manifest import Server, Standing
from incremental_assets.core.errors import SourceExchanged
from incremental_assets.core.model.cures import LOAD_AGAIN

_FIRST = 4
"""Where the first event of each file is."""
_LISTS = ("Previous_gtids", "Gtid_list")
"""The events that say which transactions come before a file, as MySQL and MariaDB call them."""


def taken_over(connection: Connection, found: Look, before: Standing) -> Standing:
    """The begin of its newest file before which nothing comes that was not read. Raises SourceExchanged where it has purged that."""
    read = gtids(found, before.gtids)
    for number in sorted(found.files, reverse=True):
        if read.covers(_before(connection, file_name(found.file, number))):
            place = Place(Place.of(before.position).turn + 1, number, _FIRST)
            server = Server(found.server, before.server.timeline)
            return replace(before, position=place.position, server=server, made=0, passes=before.gtids)
    raise SourceExchanged(
        f"the server that has taken over has purged its binlog from where it was read to on; have it keep more (`binlog_expire_logs_seconds`), and load the tables again with {LOAD_AGAIN}, "
        "as what changed in between is in no log"
    )


def _before(connection: Connection, name: str) -> str:
    """Which transactions come before a file."""
    for _, _, kind, _, _, told in connection.rows(f"SHOW BINLOG EVENTS IN '{name}' LIMIT 3"):
        if kind in _LISTS:
            return "".join((told or "").strip("[]").split())
    return ""
