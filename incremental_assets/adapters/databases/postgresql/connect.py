"""Connection settings of both drivers: timeouts, TLS, and how a reader begins its transaction. Nothing here changes a session that a pooler lends us."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote, urlencode

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.greeting import OLDEST_VERSION
from incremental_assets.adapters.databases.postgresql.pinned import Limits, deadline, pin

_SNAPSHOT = re.compile(r"[0-9A-Fa-f-]+")


def session_init(snapshot_id: str | None, limits: Limits) -> str:
    """What a parallel reader of Spark's runs first in its transaction: the shared snapshot, which must come before any query, then what it reads by."""
    if snapshot_id is None:
        return f"SET TRANSACTION READ ONLY; {_pinned(limits)}"
    return f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; {_shared(snapshot_id)}; {_pinned(limits)}"


def import_snapshot(snapshot_id: str, limits: Limits) -> str:
    """What a session of our own driver runs to see what the snapshot shows, until its transaction ends."""
    return f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {_shared(snapshot_id)}; {_pinned(limits)}"


def _pinned(limits: Limits) -> str:
    return f"{deadline(limits.statement_timeout, limits.version)}; {pin(limits)}"


def _shared(snapshot_id: str) -> str:
    if not _SNAPSHOT.fullmatch(snapshot_id):
        raise ValueError(f"{snapshot_id!r} is not the name of a snapshot")
    return f"SET TRANSACTION SNAPSHOT '{snapshot_id}'"


def driver_arguments(address: Address) -> dict[str, str | int | None]:
    """The arguments for psycopg. Where libpq would take a setting from a variable or a service, which the JDBC driver does not know, it is set here."""
    door = address.door
    return {
        # The name is what a certificate is checked against, wherever its server is reached.
        "host": address.host,
        "hostaddr": "" if door is None else door[0],
        "target_session_attrs": "any",
        "port": address.port if door is None else door[1],
        "dbname": address.database,
        "user": address.user,
        "password": address.password,
        # A pooler would give the next client a session of this name. Our transactions say it themselves, while they last.
        "application_name": "",
        "client_encoding": "utf8",
        # Poolers refuse them.
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
    name, port = address.door or (address.host, address.port)
    host = f"[{name}]" if ":" in name else name
    settings = urlencode(_jdbc_settings(address), quote_via=quote, safe="")
    return f"jdbc:postgresql://{host}:{port}/{quote(address.database, safe='')}?{settings}"


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
        # The driver's own name would stay on a pooler's connection.
        "ApplicationName": "",
        # Else the driver sets what it needs of old servers in statements of its own.
        "assumeMinServerVersion": str(OLDEST_VERSION // 10_000),
        "connectTimeout": str(_seconds(address.connect_timeout)),
        "loginTimeout": str(_seconds(address.connect_timeout)),
        "socketTimeout": str(_seconds(address.socket_timeout)),
        "tcpKeepAlive": "true",
        # A statement with a name would stay on a pooler's connection.
        "prepareThreshold": "0",
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
        # This driver checks the name by which it connects, which a tunnel has of its own: the authority alone is left.
        return {"sslmode": address.tls if address.door is None else "verify-ca", "sslrootcert": str(own)}
    mode = "verify-full" if address.door is None else "verify-ca"
    return {"sslmode": mode, "sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"}


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
