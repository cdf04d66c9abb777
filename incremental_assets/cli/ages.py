"""Ages for eyes."""

from __future__ import annotations

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def age(seconds: float) -> str:
    """The two largest units say enough: `3d 4h`, `12m 5s`, `0s`."""
    rest, parts = max(0, round(seconds)), []
    for unit, size in _UNITS:
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts[:2]) or "0s"
