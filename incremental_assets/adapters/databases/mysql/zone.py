"""The zone in which the server's own clock stamps values without one."""

from __future__ import annotations

import re

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.core.model.table_shape import RoleZone
from incremental_assets.core.model.time_zones import proper_name

_AT_CONNECT = "SELECT @@global.init_connect, @@global.time_zone, @@system_time_zone"
"""What the server runs in each session that begins, but for those of users with `CONNECTION ADMIN` or `SUPER`."""
_SETS_ZONE = re.compile(r"\btime_zone\b\W*?=\s*(?:'([^']*)'|\"([^\"]*)\"|(default)\b)?", re.IGNORECASE)
_OFFSET = re.compile(r"([+-])0?(\d{1,2}):00")


def server_zone(of_sessions: str, of_machine: str) -> str:
    """A zone as Python knows it, where it does: what a fresh session has, or the short name that the machine's zone had when the server started."""
    name = of_machine if of_sessions == "SYSTEM" else of_sessions
    if offset := _OFFSET.fullmatch(name):
        # Names of fixed offsets count the other way round.
        sign = "-" if offset[1] == "+" else "+"
        return "UTC" if offset[2] == "0" else f"Etc/GMT{sign}{offset[2]}"
    return proper_name(name) or name


def zones_at_connect(connection: Connection) -> tuple[RoleZone, ...]:
    """The zone that sessions are given as they begin, where the server's own is not left to them."""
    text, of_sessions, of_machine = (each or "" for each in connection.row(_AT_CONNECT))
    found = list(_SETS_ZONE.finditer(text))
    if not found:
        return ()
    name = next(filter(None, found[-1].groups()), "one that is computed")
    zone = server_zone(of_sessions if name.upper() == "DEFAULT" else name, of_machine)
    return (RoleZone("each session, by the server's `init_connect`,", zone),)
