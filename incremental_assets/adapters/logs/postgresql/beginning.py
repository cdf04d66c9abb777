"""What begins a session of replication: its settings, and the command that has the server send what a slot holds."""

from __future__ import annotations

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import NOT_IN_FORCE
from incremental_assets.adapters.databases.postgresql.pinned import pin_session
from incremental_assets.adapters.databases.postgresql.sql import identifier, literal
from incremental_assets.adapters.databases.sentences import place_of
from incremental_assets.adapters.logs.postgresql.peek import quoted
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.wire import Wire


def pins(address: Address) -> tuple[str, str]:
    """What is asked first, and answered by true, and what is wrong where it is not."""
    return pin_session(), f"{place_of(address)}: {NOT_IN_FORCE}"


def command(slot: Slot, wire: Wire, *, binary: bool) -> bytes:
    """From where the slot is."""
    formats = ", binary 'true'" if binary else ""
    options = f"proto_version '1', publication_names {literal(quoted(slot.publication))}{formats}"
    return f"START_REPLICATION SLOT {identifier(slot.name)} LOGICAL 0/0 ({options})".encode(wire.codec)
