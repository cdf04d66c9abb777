"""Connection settings of both drivers: timeouts, TLS, and the session settings under which a value always prints the same."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote, urlencode

from incremental_assets.adapters.databases.dialect import Address

READER = "incremental-assets"
"""The application name of every session of ours, by which the bound leaves our own readers out."""
OLDEST_VERSION = 140000
"""The oldest version: before it extract() was a float and blocks could not be read in ranges."""

_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "default_transaction_read_only": "on",
    # A snapshot is held idle while Spark reads by it.
    "idle_in_transaction_session_timeout": "0",
    # Compiling the expressions of a thousand light queries takes longer than answering them.
    "jit": "off",
}
# Looked up, as the first exists since PostgreSQL 17, and a server that does not run on Linux may refuse the second, by which a count whose
# process was killed ends as well. Prepared by its own statement, as the JDBC driver describes every statement before it runs the first, and
# to describe a SELECT takes the snapshot that SET TRANSACTION SNAPSHOT must still be free to set; no row, as none was described.
_WHERE_THEY_EXIST = (
    "PREPARE incremental_assets_settings AS SELECT FROM pg_settings WHERE CASE "
    "WHEN name = 'transaction_timeout' THEN set_config(name, '0', false) "
    "WHEN name = 'client_connection_check_interval' AND version() LIKE '%-linux%' THEN set_config(name, '5s', false) END = 'never'; "
    "EXECUTE incremental_assets_settings; DEALLOCATE incremental_assets_settings"
)
# First of all: what a role's own path names before the catalogue, such as a monitoring view called pg_stat_activity, would answer in its place.
# Tables are named with their schema, and what types do is not looked up by name.
_CATALOGUE_ALONE = "SET search_path = pg_catalog, pg_temp"
_SNAPSHOT = re.compile(r"[0-9A-Fa-f-]+")


def settings(statement_timeout: timedelta | None) -> str:
    """The statements that every session of ours begins with. None: a statement may take as long as it needs."""
    milliseconds = 0 if statement_timeout is None else _milliseconds(statement_timeout)
    known = "; ".join(f"SET {name} = '{value}'" for name, value in _SETTINGS.items())
    return f"{_CATALOGUE_ALONE}; {known}; SET statement_timeout = {milliseconds}; {_WHERE_THEY_EXIST}"


def session_init(snapshot_id: str | None, statement_timeout: timedelta) -> str:
    """What a parallel reader runs first: the shared snapshot, which must come before any query, then the settings."""
    if snapshot_id is None:
        return settings(statement_timeout)
    snapshot = f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; {_shared(snapshot_id)}"
    return f"{snapshot}; {settings(statement_timeout)}"


def import_snapshot(snapshot_id: str) -> str:
    """What a session of our own driver runs to see what the snapshot shows, until its transaction ends."""
    return f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {_shared(snapshot_id)}"


def _shared(snapshot_id: str) -> str:
    if not _SNAPSHOT.fullmatch(snapshot_id):
        raise ValueError(f"{snapshot_id!r} is not the name of a snapshot")
    return f"SET TRANSACTION SNAPSHOT '{snapshot_id}'"


def driver_arguments(address: Address) -> dict[str, str | int | None]:
    """The arguments for psycopg. Where libpq would take a setting from a variable or a service, which the JDBC driver does not know, it is set here."""
    return {
        "host": address.host,
        "hostaddr": "",
        "target_session_attrs": "any",
        "port": address.port,
        "dbname": address.database,
        "user": address.user,
        "password": address.password,
        "application_name": READER,
        "client_encoding": "utf8",
        "options": "",
        "connect_timeout": max(2, _seconds(address.connect_timeout)),
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": _milliseconds(address.socket_timeout),
        "gssencmode": "disable",
        # Named statements do not survive a pooler between us and the database.
        "prepare_threshold": None,
        **_driver_tls(address),
    }


def jdbc_url(address: Address) -> str:
    """The URL with everything that the driver must know, but for user and password: an address ends up in logs and plans.

    In the address a name keeps its case. Spark Connect sends the options of a reader in lower case, which the driver does not know.
    """
    host = f"[{address.host}]" if ":" in address.host else address.host
    settings = urlencode(_jdbc_settings(address), quote_via=quote, safe="")
    return f"jdbc:postgresql://{host}:{address.port}/{quote(address.database, safe='')}?{settings}"


def jdbc_properties(address: Address) -> dict[str, str]:
    """Options of Spark's reader: what Spark itself must know, and the credentials. Their names are in lower case, as they arrive."""
    return {
        "driver": "org.postgresql.Driver",
        "user": address.user,
        "password": address.password,
        "fetchsize": str(max(1, address.fetch_size)),
    }


def _jdbc_settings(address: Address) -> dict[str, str]:
    return {
        "ApplicationName": READER,
        # The name then comes with the connection: a nameless session would hold the bound back for a moment.
        "assumeMinServerVersion": str(OLDEST_VERSION // 10_000),
        "connectTimeout": str(_seconds(address.connect_timeout)),
        "loginTimeout": str(_seconds(address.connect_timeout)),
        "socketTimeout": str(_seconds(address.socket_timeout)),
        "tcpKeepAlive": "true",
        # Binary transfer from the first row on.
        "prepareThreshold": "-1",
        "binaryTransfer": "true",
        "readOnly": "true",
        "gssEncMode": "disable",
        # A server's error may quote a row.
        "logServerErrorDetail": "false",
        **_jdbc_tls(address),
    }


def _driver_tls(address: Address) -> dict[str, str | int | None]:
    if not address.tls.startswith("verify") or _own_authority():
        return {"sslmode": address.tls}
    # libpq takes the system's authorities with the strictest check only.
    return {"sslmode": "verify-full", "sslrootcert": "system"}


def _jdbc_tls(address: Address) -> dict[str, str]:
    if not address.tls.startswith("verify"):
        return {"sslmode": address.tls}
    own = _own_authority()
    if own is not None:
        return {"sslmode": address.tls, "sslrootcert": str(own)}
    return {"sslmode": "verify-full", "sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"}


def _own_authority() -> Path | None:
    """The certificate authority that libpq's own rules name, so that both drivers trust the same one."""
    named = os.environ.get("PGSSLROOTCERT")
    path = Path(named) if named else Path.home() / ".postgresql" / "root.crt"
    # An engine's JVM, which reads it, stands in another folder.
    return path.absolute() if path.is_file() else None


def _seconds(duration: timedelta) -> int:
    return max(1, round(duration.total_seconds()))


def _milliseconds(duration: timedelta) -> int:
    return max(1, round(duration.total_seconds() * 1000))
