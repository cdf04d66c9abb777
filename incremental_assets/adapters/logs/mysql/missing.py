"""What an administrator runs so that tables can be read from a source's binlog."""

from __future__ import annotations

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.flavour import MARIADB
from incremental_assets.adapters.logs.mysql.fitness import IN_PARTS, PACKED, WANTED

_GRANTED = "SELECT privilege_type FROM information_schema.user_privileges"
_SETTINGS = {**{name: wanted for name, wanted, _ in WANTED}, IN_PARTS: "", **dict.fromkeys(PACKED, "OFF")}


def missing_sql(connection: Connection) -> str:
    """In the order in which they are to be run. The settings are to be written into the server's configuration, too."""
    is_mariadb = connection.flavour is MARIADB
    told = {(name or "").lower(): value or "" for name, value in connection.rows("SHOW GLOBAL VARIABLES")}
    lines = [] if told.get("log_bin") == "ON" else ["-- write log_bin into the server's configuration, and restart it"]
    if not is_mariadb and told.get("gtid_mode") != "ON":
        lines.append("-- set gtid_mode = ON by the steps of the server's manual")
    lines += [
        f"SET GLOBAL {name} = '{value}';"
        for name, value in _SETTINGS.items()
        if name in told and told[name].upper() != value
    ]
    (user,) = connection.row("SELECT CURRENT_USER()")
    name, _, host = str(user).rpartition("@")
    granted = {privilege for (privilege,) in connection.rows(_GRANTED)}
    # MySQL holds commits up for a moment while a load begins.
    wanted = (
        ("REPLICATION SLAVE", "BINLOG MONITOR") if is_mariadb else ("REPLICATION SLAVE", "REPLICATION CLIENT", "RELOAD")
    )
    lines += [
        f"GRANT {privilege} ON *.* TO {_quoted(name)}@{_quoted(host)};"
        for privilege in (*wanted, "PROCESS")
        if granted.isdisjoint((privilege, "SUPER"))
    ]
    return "\n".join(lines)


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
