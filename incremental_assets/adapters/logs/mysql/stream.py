"""A binlog from a place on, over the protocol of replication: all that there is by now, and then the end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from incremental_assets.adapters.databases.mysql.connect import Connection

_DUMP = 0x12
_AND_END = 1
"""Do not wait for more."""


def packets(connection: Connection, name: str, offset: int) -> Iterator[bytes]:
    """Events as they come. Nothing else can be asked of the connection any more. Raises what the driver raises."""
    connection.execute("SET @master_binlog_checksum = @@global.binlog_checksum")
    # MariaDB sends events as they are to whoever knows them, and others in their place to whoever does not.
    connection.execute("SET @mariadb_slave_capability = 4")
    # A replica of the same number would end another one's stream.
    number = (1 << 31) + secrets.randbelow(1 << 31)
    asked = offset.to_bytes(4, "little") + _AND_END.to_bytes(2, "little") + number.to_bytes(4, "little") + name.encode()
    yield from connection.stream(_DUMP, asked)
