"""Statements of the database's own, in a trigger of another table or a rule, that write rows of a table with a stamp which they bring. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.tokens import Kind, NotRead, Token, is_word
from incremental_assets.core.model.stamping import Proof, Stamp, Unit, Unproven

Tokens = Sequence[Token]
Reads = Callable[[Tokens], Reading]
"""What an expression reads off the clock, from its first word to its last. Raises NotRead."""
_ENDS = ("where", "from", "returning", "on", "order", "limit")


def brings(found: Tokens, table: str, column: str, reads: Reads) -> bool:
    """Whether one of the statements may give the column of a row of the table a value that is no reading of the clock now."""
    return any(
        not _is_now(value, reads) for statement in _statements(found) for value in _given(statement, table, column)
    )


def but_for(proof: Proof, why: str) -> Proof:
    """What is proven of the rows that come without a stamp, where others bring one."""
    return Unproven(why) if why and isinstance(proof, Stamp) else proof


def zone_of(*proofs: Proof) -> str:
    """The zone that stamps are proven to be made in."""
    return next((each.zone for each in proofs if isinstance(each, Stamp) and each.zone), "")


def in_that_zone(found: Reading, zone: str) -> Reading:
    """The same. Raises NotRead for one of another zone."""
    if found.zone != zone:
        raise NotRead
    return found


def _is_now(value: Tokens | None, reads: Reads) -> bool:
    """Of one that is cut to more than a second it is not known that the table's own stamps are, too."""
    if value is None:
        return False
    if [each.text for each in value] == ["default"]:
        return True
    try:
        return all(cut.unit is Unit.SECOND for cut in reads(value).cuts)
    except NotRead:
        return False


def _statements(found: Tokens) -> Iterator[Tokens]:
    begin = 0
    for place, token in enumerate(found):
        if is_word(token, ";"):
            yield found[begin:place]
            begin = place + 1
    yield found[begin:]


def _given(statement: Tokens, table: str, column: str) -> Iterator[Tokens | None]:
    """The values that the column is given; None for one that is not found, as that of a whole row."""
    for place, token in enumerate(statement):
        ahead = statement[place + 1 :]
        if is_word(token, "update"):
            rest = _behind(ahead, table)
            yield from () if rest is None else _set(rest, column)
        elif is_word(token, "into") or (is_word(token, "insert") and not any(is_word(each, "into") for each in ahead)):
            rest = _behind(ahead, table)
            is_merge = place > 0 and is_word(statement[place - 1], "merge")
            if rest is not None and is_merge:
                yield from [None] if any(_is(each, column) for each in rest) else ()
            elif rest is not None:
                yield from _inserted(rest, column)


def _behind(ahead: Tokens, table: str) -> Tokens | None:
    """What stands behind the name of the table; None where another one is named."""
    names = list(ahead)
    while names and any(is_word(names[0], word) for word in ("only", "ignore", "low_priority")):
        names.pop(0)
    if len(names) > 1 and is_word(names[0], "or"):
        names = names[2:]
    while len(names) > 2 and is_word(names[1], "."):
        names = names[2:]
    return names[1:] if names and names[0].kind is Kind.NAME and _is(names[0], table) else None


def _set(rest: Tokens, column: str) -> Iterator[Tokens | None]:
    """Of `SET one = …, other = …`, wherever it begins."""
    begin = next((place for place, token in enumerate(rest) if is_word(token, "set")), None)
    if begin is None:
        return
    for part in _parts(rest[begin + 1 :], _ENDS):
        signs = [place for place, token in enumerate(part) if is_word(token, "=")]
        names = part[: signs[0]] if signs else part
        if any(_is(each, column) for each in names):
            yield part[signs[0] + 1 :] if signs and not any(is_word(each, "(") for each in names) else None


def _inserted(rest: Tokens, column: str) -> Iterator[Tokens | None]:
    """Of `(one, other) VALUES (…, …)`, and of what is updated where the key is there."""
    again = next((place for place, token in enumerate(rest) if is_word(token, "update")), len(rest))
    yield from _set((Token(Kind.NAME, "set"), *rest[again + 1 :]), column)
    rest = rest[:again]
    if rest and is_word(rest[0], "set"):
        yield from _set(rest, column)
        return
    opens = next((place for place, token in enumerate(rest) if is_word(token, "(")), None)
    if opens is None or any(is_word(token, word) for token in rest[:opens] for word in ("values", "select", "default")):
        yield from () if any(is_word(token, "default") for token in rest[:2]) else [None]
        return
    names = list(_parts(rest[opens + 1 :], ()))
    at = next((place for place, name in enumerate(names) if any(_is(each, column) for each in name)), None)
    if at is None:
        return
    values = next((place for place, token in enumerate(rest) if is_word(token, "values")), None)
    rows = () if values is None else tuple(_rows(rest[values + 1 :]))
    yield from (row[at] if at < len(row) else None for row in rows) if rows else [None]


def _rows(found: Tokens) -> Iterator[list[Tokens]]:
    depth = 0
    for place, token in enumerate(found):
        if depth == 0 and is_word(token, "("):
            yield list(_parts(found[place + 1 :], ()))
        elif depth == 0 and token.kind is Kind.NAME:
            return
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind is Kind.SIGN else 0


def _parts(found: Tokens, ends: Sequence[str]) -> Iterator[Tokens]:
    """What stands between commas, up to one of these words or the parenthesis that closes."""
    begin = depth = 0
    for place, token in enumerate(found):
        if token.kind is Kind.SIGN and token.text in "()":
            depth += 1 if token.text == "(" else -1
            if depth < 0:
                yield found[begin:place]
                return
        elif depth == 0 and is_word(token, ","):
            yield found[begin:place]
            begin = place + 1
        elif depth == 0 and any(is_word(token, end) for end in ends):
            yield found[begin:place]
            return
    yield found[begin:]


def _is(token: Token, name: str) -> bool:
    return token.kind is Kind.NAME and token.text.lower() == name.lower()
