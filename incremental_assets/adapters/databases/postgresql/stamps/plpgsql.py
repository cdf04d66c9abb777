"""A trigger function in PL/pgSQL, as its steps: the few statements of which such functions consist that stamp a row."""

from __future__ import annotations

from functools import partial
from itertools import takewhile

from incremental_assets.adapters.databases.postgresql.stamps.expression import read_expression
from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.steps import (
    KEPT,
    UNKNOWN,
    Assign,
    Choose,
    Finish,
    Outcome,
    Step,
    Steps,
    Way,
    bare,
    follow,
    spelled,
)
from incremental_assets.adapters.databases.stamps.tokens import Kind, NotRead, Token, Words, is_word, tokens

_BEGINS = (";", "begin", "then", "else", "loop", ".")
"""What stands before a statement; the last behind the name of the function, to which the row belongs."""
_HANDS_ON = {"alias": ";", "call": ";", "diagnostics": ";", "for": "in", "foreach": "in"}
"""What gives the new row another name, or a value of it to a parameter or a loop that may set it; and where that ends."""
_DIFFERS = (
    "row(new.*) is distinct from row(old.*)",
    "row(old.*) is distinct from row(new.*)",
    "new.* is distinct from old.*",
    "old.* is distinct from new.*",
    "new is distinct from old",
    "old is distinct from new",
)
"""A row that is written as it was needs no other stamp."""
_IMAGE_DIFFERS = ("new.* * <> old.*", "old.* * <> new.*", "new * <> old", "old * <> new")
"""The same by the bytes, as `*<>` compares: of no type it takes two values for one."""
_SAME = ("{} is not distinct from {}", "not({} is distinct from {})")
"""At an update that brings no stamp of its own; the second is how PostgreSQL prints the first."""
_EQUAL = "{} = {}"
"""The same of a column that has a value in every row: of two NULLs it is not true."""


def outcome_of(source: str, column: str, event: str, *, exact: bool = True, filled: bool = True) -> Outcome:
    """What a function in PL/pgSQL leaves in a column at an `insert` or an `update`. `exact`: whether rows that are equal show the same; `filled`: whether it is never NULL."""
    try:
        found = tokens(source)
    except NotRead:
        return UNKNOWN
    try:
        steps = _body(Words(found))
    except NotRead:
        return UNKNOWN if _may_write(found, column) else KEPT
    return follow(
        steps,
        Way(
            column,
            partial(holds, column=column, event=event, exact=exact, filled=filled),
            partial(_read, column=column, event=event),
        ),
    )


def holds(condition: tuple[Token, ...], *, column: str, event: str, exact: bool, filled: bool) -> bool | None:
    """Whether a condition holds at this event, as far as the stamp goes: one that a row is written at all with other values, or brings no stamp of its own."""
    text = spelled(bare(condition))
    if text.startswith("tg_op "):
        return _is_event(condition, event)
    if event == "update" and (text in _IMAGE_DIFFERS or (exact and text in _DIFFERS)):
        return True
    same = (*_SAME, _EQUAL) if filled else _SAME
    if event == "update" and text in {form.format(*pair) for form in same for pair in _pairs(column)}:
        return True
    if event == "insert" and text == f"new.{column} is null":
        return True
    return None


def _pairs(column: str) -> tuple[tuple[str, str], tuple[str, str]]:
    new, old = f"new.{column}", f"old.{column}"
    return (new, old), (old, new)


def _is_event(condition: tuple[Token, ...], event: str) -> bool | None:
    """`TG_OP = 'INSERT' OR TG_OP = 'UPDATE'`, and the same as a list."""
    words, named = Words(bare(condition)), set[str]()
    try:
        while True:
            words.expect("tg_op")
            named.update(_listed(words))
            if words.is_done:
                return event in named
            words.expect("or")
    except NotRead:
        return None


def _listed(words: Words) -> list[str]:
    if words.accept("="):
        return [words.text().lower()]
    words.expect("in", "(")
    found = [words.text().lower()]
    while words.accept(","):
        found.append(words.text().lower())
    words.expect(")")
    return found


def _read(value: tuple[Token, ...], *, column: str, event: str) -> Reading:
    words = Words(value)
    # A row that brings no stamp gets one; at an update it brings the one that it had.
    brings = event == "insert" and words.accept("coalesce", "(", "new", ".", column, ",")
    found = read_expression(words)
    if brings:
        words.expect(")")
    words.end()
    return found


def _body(words: Words) -> Steps:
    row = "new"
    if words.accept("declare"):
        # A copy of the row, which is then the one that is changed and returned.
        row = words.name()
        words.expect("record", ";", "begin", row)
        if not (words.accept(":=") or words.accept("=")):
            raise NotRead
        words.expect("new", ";")
    else:
        words.expect("begin")
    steps = _steps(words, row, "end")
    words.expect("end")
    words.accept(";")
    words.end()
    return steps


def _steps(words: Words, row: str, *ends: str) -> Steps:
    steps: list[Step] = []
    while not any(words.follows(end) for end in ends):
        steps += _step(words, row)
    return tuple(steps)


def _step(words: Words, row: str) -> Steps:
    if words.accept("return"):
        what = spelled(words.until(";"))
        words.expect(";")
        if what == row:
            return (Finish(writes=True),)
        if what in ("old", "null"):
            return (Finish(writes=False),)
        raise NotRead
    if words.accept("null", ";"):
        return ()
    if words.accept("raise") or words.accept("perform"):
        # Neither gives a column a value; but the wall clock may then be that of another zone.
        if any(is_word(each, "set_config") for each in words.until(";")):
            raise NotRead
        words.expect(";")
        return ()
    if words.accept("if"):
        return (_choice(words, row),)
    words.expect(row, ".")
    return (_assignment(words),)


def _choice(words: Words, row: str) -> Choose:
    branches: list[tuple[tuple[Token, ...], Steps]] = []
    while True:
        condition = words.until("then")
        words.expect("then")
        branches.append((condition, _steps(words, row, "elsif", "elseif", "else", "end")))
        if not (words.accept("elsif") or words.accept("elseif")):
            break
    if words.accept("else"):
        branches.append(((), _steps(words, row, "end")))
    words.expect("end", "if", ";")
    return Choose(tuple(branches))


def _assignment(words: Words) -> Assign:
    column = words.name()
    if not (words.accept(":=") or words.accept("=")):
        raise NotRead
    value = words.until(";")
    words.expect(";")
    return Assign(column, value)


def _may_write(found: tuple[Token, ...], column: str) -> bool:
    """Whether a function that is not read may give the column another value: it assigns to it, to the whole row, hands it to what may, or returns another one."""
    for place, token in enumerate(found):
        before = found[place - 1] if place else None
        after = (*found[place + 1 : place + 4], *[Token(Kind.END, "")] * 3)
        if is_word(token, "return") and not any(is_word(after[0], word) for word in ("new", "old", "null")):
            return True
        if is_word(token, "return") and not is_word(after[1], ";"):
            return True
        if is_word(token, "into") and not (before and is_word(before, "insert")) and _reaches_new(found[place:]):
            return True
        if any(is_word(token, word) and _reaches_new(found[place:], end) for word, end in _HANDS_ON.items()):
            return True
        if token.text != "new" or token.kind is not Kind.NAME:
            continue
        is_first = before is None or any(is_word(before, word) for word in _BEGINS)
        if any(is_word(after[0], sign) for sign in (":=", "=")) and (is_first or is_word(after[0], ":=")):
            return True
        of_column = is_word(after[0], ".") and after[1].text == column
        if of_column and (is_word(after[2], ":=") or (is_first and is_word(after[2], "="))):
            return True
    return False


def _reaches_new(found: tuple[Token, ...], end: str = ";") -> bool:
    """Whether the new row is named before the statement, or this part of it, ends."""
    return any(each.text == "new" for each in takewhile(lambda each: not is_word(each, end), found))
