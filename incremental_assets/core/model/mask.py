"""How the values of a column are masked before they are anywhere else than in the source: what each mask takes, and what it leaves. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

SHORTEST_KEY = 32
"""Characters of a key: of a shorter one every value could be tried."""
REDACTED = "(masked)"
"""What stands for any value of a column whose values are not told apart."""
_SHOWN, _HIDES = 4, 8
"""How many characters `last4` leaves, and of how many that are seen at the least: of fewer they would be much of the value."""
_WHOLE = re.compile(r"tinyint|smallint|int|bigint")
_MOMENTS = ("date", "timestamp", "timestamp_ntz")


class Mask(StrEnum):
    """What lands in the place of a value; NULL stays NULL."""

    HMAC = "hmac"
    """The same token for the same value, by a key: joins and counts go on, and nobody without the key can try values."""
    LAST4 = "last4"
    REDACT = "redact"
    YEAR = "year"

    def lands_as(self, kind: str) -> str | None:
        """The Spark type of what lands, of a column of this type; None where the mask does not fit it."""
        whole = bool(_WHOLE.fullmatch(kind))
        match self:
            case Mask.HMAC:
                return "string" if kind in ("string", "date") or whole else None
            case Mask.LAST4:
                return "string" if kind == "string" or whole else None
            case Mask.REDACT:
                return "string"
            case Mask.YEAR:
                return kind if kind in _MOMENTS else None

    @property
    def takes(self) -> str:
        """The columns that it fits, in words."""
        return {
            Mask.HMAC: "a text, a whole number or a date",
            Mask.LAST4: "a text or a whole number",
            Mask.REDACT: "a column of any type",
            Mask.YEAR: "a date or a timestamp",
        }[self]

    @property
    def words(self) -> str:
        """What of a value lands, in words."""
        return {
            Mask.HMAC: "a token by a key in place of each value",
            Mask.LAST4: "the last four characters of each value",
            Mask.REDACT: f"{REDACTED} in place of each value",
            Mask.YEAR: "the first day of each value's year",
        }[self]


@dataclass(frozen=True, slots=True)
class MaskKey:
    """The key of tokens. `id` tells keys apart and is kept with what landed; nothing tells the key by it."""

    secret: str = field(repr=False)

    @property
    def id(self) -> str:
        """Twelve digits by which another key is noticed."""
        return _token(self.secret, "incremental-assets: which key this is")[:12]


def text_mask(mask: Mask, key: MaskKey | None) -> Callable[[str], str]:
    """What a mask makes of a value's text. ValueError for tokens without a key, and for YEAR, which makes no text."""
    match mask:
        case Mask.HMAC if key is not None:
            secret = key.secret
            return lambda text: _token(secret, text)
        case Mask.LAST4:
            return _last4
        case Mask.REDACT:
            return lambda _: REDACTED
        case _:
            raise ValueError(f"{mask} has no text, or no key")


def _last4(text: str) -> str:
    """Blanks, and what is not seen, hide nothing of a short value."""
    seen = sum(each.isprintable() and not each.isspace() for each in text)
    return f"****{text.strip()[-_SHOWN:]}" if seen >= _HIDES else "****"


def _token(secret: str, text: str) -> str:
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
