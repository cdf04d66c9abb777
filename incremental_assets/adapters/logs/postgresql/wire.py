"""How the texts of a database come in its log: as UTF-8, or as they are stored where the server might refuse to convert one, and with it the range."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.adapters.databases.postgresql.encodings import codec_of
from incremental_assets.adapters.databases.postgresql.sql import literal


@dataclass(frozen=True, slots=True)
class Wire:
    """How the texts of a database come: `encoding` is its own, where they are not converted, and empty where they come as UTF-8."""

    encoding: str
    codec: str

    @classmethod
    def of(cls, encoding: str) -> Wire:
        """By the server's name of the database's encoding."""
        codec = codec_of(encoding)
        return cls(encoding, codec) if codec else UTF8

    def unconverted(self, scope: str) -> str:
        """The statement that has the server convert nothing until the end of its `scope`; empty where it is to convert."""
        return f"SET {scope} client_encoding = {literal(self.encoding)}" if self.encoding else ""

    def text(self, found: bytes) -> str:
        """A name; one that is none as its bytes."""
        return found.decode(self.codec, "backslashreplace")


UTF8 = Wire("", "utf-8")
