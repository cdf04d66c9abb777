"""By what the server takes values of a column for equal that a copy tells apart."""

from __future__ import annotations

_UNPADDED = ("nopad_bin", "0900_bin")


def equality(kind: str, collation: str) -> str:
    """Empty where equal values are the same ones. `kind`: the column's type; `collation`: its collation, empty where it has none."""
    name = kind.lower().replace("(", " ").partition(" ")[0]
    if name in ("float", "double"):
        return "0 and -0 of a floating point number"
    # Labels are compared by their numbers.
    if not collation or name in ("enum", "set") or collation == "binary" or collation.endswith(_UNPADDED):
        return ""
    # Of a `char` the server gives no spaces at the end, whatever was written.
    if collation.endswith("_bin") and name == "char":
        return ""
    return f"the collation {collation}"
