"""Which texts of a key the server takes for equal: by the weights that its collation gives them, which the server shows, and which it is tested by.

Weights are compared level by level. Where a collation pads, the shorter of two texts is compared as if spaces followed it: so the weights of spaces at the end
count for nothing. That the weights of a collation are all there is to its equality, each server shows on texts in which they might not be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.floats import hexadecimal_sql
from incremental_assets.adapters.databases.mysql.sql import identifier
from incremental_assets.core.model.column import Column

_FLOAT, _PADDED = "float", "padded"
_LEVELS = ((), (1, 2), (1, 3), (1, 2, 3))
"""Of the weights of several levels: all together, as MySQL's collations have them, or each level alone."""
_TEXTS = (
    *(
        "a",
        "A",
        "b",
        "a ",
        "A  ",
        " a",
        "a b",
        "ab",
        "a  b",
        "",
        " ",
        "   ",
        "-",
        "a-b",
        "a\t",
        "\t",
        "\x00",
        "a\x00",
        "\x01",
        "a\x01",
        "1",
        "\uff11",
    ),
    *(
        "\xe1",
        "\xc1",
        "a\u0301",
        "a\u0301\u0301",
        "\xe4",
        "\xe5",
        "\xc5",
        "aa",
        "\xe6",
        "ae",
        "\xdf",
        "ss",
        "SS",
        "\xf6",
        "o",
        "O\u0308",
        "\u0153",
        "oe",
    ),
    *(
        "i",
        "I",
        "\u0130",
        "\u0131",
        "c",
        "h",
        "ch",
        "CH",
        "l",
        "ll",
        "\u01c4",
        "dz",
        "\u0149",
        "\u02bcn",
        "\ufb00",
        "ff",
        "\u0e40\u0e01",
        "\u0e01\u0e40",
    ),
    *(
        "\u30a2",
        "\uff71",
        "\u3042",
        "\u6f22",
        "\u5b57",
        "\ud55c",
        "\u1112\u1161\u11ab",
        "\xa0",
        "a\xa0",
        "\u3000",
        "a\u3000",
        "\u200b",
        "a\u200b",
        "a \u200b",
    ),
    *("\U0001f600", "\U0001f601", "\U0001d4b3", "\U00010400", "\U00010428"),
)
_known: dict[tuple[str, str, bool], str | None] = {}
"""What a collation of a server has turned out to be; None: its weights do not tell. It stays so while the server has that version."""


def compared(connection: Connection, kind: str, collation: str | None) -> tuple[str, str]:
    """How the server compares a column of a type, and why that can be no part of a key; each empty where there is nothing to say."""
    name = re.split(r"[\s(]", kind.lower(), maxsplit=1)[0]
    if name in ("float", "double"):
        return _FLOAT, ""
    if not collation or collation == "binary" or name in ("enum", "set"):
        return "", ""
    # Of a `char` the server gives no spaces at the end, whatever was written.
    found = _words(connection, collation, stripped=name == "char")
    return (
        ("", f"the weights of its collation {collation} do not show which texts this server takes for equal")
        if found is None
        else (found, "")
    )


def collation_key(of: Sequence[Column]) -> str:
    """SQL for one text of some columns, equal where the server takes their values for equal, and NULL where one of them is NULL."""
    parts = [_folded(column.collation, identifier(column.name)) for column in of]
    return parts[0] if len(parts) == 1 else "CONCAT(" + ", '|', ".join(parts) + ")"


def _folded(words: str, value: str) -> str:
    if words == _FLOAT:
        return f"IF({value} = 0, '0', {hexadecimal_sql(f'({value} + 0e0)')})"
    collation, *how = words.split(" ")
    return _weights(collation, value, padded=_PADDED in how, levels=[int(each) for each in how if each.isdecimal()])


def _weights(collation: str, value: str, *, padded: bool, levels: Sequence[int]) -> str:
    space = f"CONVERT(' ' USING {collation.partition('_')[0]}) COLLATE {collation}"

    def of_level(level: str) -> str:
        found = f"WEIGHT_STRING({value}{level})"
        return f"HEX(TRIM(TRAILING WEIGHT_STRING({space}{level}) FROM {found}))" if padded else f"HEX({found})"

    parts = [of_level(f" LEVEL {level}") for level in levels] or [of_level("")]
    return parts[0] if len(parts) == 1 else "CONCAT(" + ", '/', ".join(parts) + ")"


def _words(connection: Connection, collation: str, *, stripped: bool) -> str | None:
    asked = (connection.version, collation, stripped)
    if asked not in _known:
        _known[asked] = _found_out(connection, collation, stripped=stripped)
    return _known[asked]


def _found_out(connection: Connection, collation: str, *, stripped: bool) -> str | None:
    charset = collation.partition("_")[0]
    (padded,) = connection.row(
        f"SELECT CONVERT('a ' USING {charset}) COLLATE {collation} = CONVERT('a' USING {charset})"
    )
    if collation.endswith("_bin") and (stripped or padded != "1"):
        return ""
    texts = " UNION ALL ".join(
        f"SELECT CONVERT(CAST(x'{text.encode().hex()}' AS CHAR CHARACTER SET utf8mb4) USING {charset}) COLLATE {collation} AS s"
        for text in _TEXTS
    )
    for levels in _LEVELS if connection.flavour.weighs_levels else _LEVELS[:1]:
        one, other = (_weights(collation, f"{side}.s", padded=padded == "1", levels=levels) for side in ("a", "b"))
        # Of each pair that either side takes for equal alone.
        (differ,) = connection.row(
            f"SELECT COUNT(*) FROM ({texts}) AS a JOIN ({texts}) AS b ON (a.s = b.s) <> (BINARY {one} = BINARY {other})"
        )
        if differ == "0":
            return " ".join([collation, *([_PADDED] if padded == "1" else []), *map(str, levels)])
    return None
