"""Statements that a binlog has as texts: what each does to tables whose rows are followed. One that is not known counts as one that changes any of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto

Name = tuple[str, str]

_TOKEN = re.compile(
    r"/\*(?!M?!).*?\*/|/\*M?!\d*|\*/|`(?:[^`]|``)*`|'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|--(?!\S)[^\n]*|#[^\n]*|[\w$\u0080-\uffff]+|[^\s]",
    re.DOTALL,
)
_CONTROL = frozenset(("begin", "commit", "savepoint", "release", "start"))
_ANYTHING_ELSE = frozenset(
    (
        "grant",
        "revoke",
        "analyze",
        "optimize",
        "repair",
        "flush",
        "comment",
        "check",
        "install",
        "uninstall",
        "reset",
        "lock",
        "unlock",
        "cache",
        "kill",
        "purge",
        "change",
        "stop",
    )
)
_OTHERS = frozenset(
    (
        "view",
        "trigger",
        "procedure",
        "function",
        "event",
        "user",
        "role",
        "index",
        "unique",
        "fulltext",
        "spatial",
        "server",
        "sequence",
        "tablespace",
        "logfile",
        "undo",
        "package",
        "aggregate",
        "resource",
        "instance",
    )
)
"""What is made, altered or dropped and is no table."""
_MODIFIERS = frozenset(
    (
        "or",
        "replace",
        "if",
        "not",
        "exists",
        "online",
        "offline",
        "ignore",
        "algorithm",
        "=",
        "definer",
        "sql",
        "security",
    )
)
_HARMLESS = re.compile(
    r"(add|drop) (unique |fulltext |spatial )?(index|key) |rename (index|key) |comment |auto_increment |(disable|enable) keys|"
    r"alter (column )?\S+ (set|drop) default |(algorithm|lock) "
)
"""What ALTER TABLE does that leaves rows as they are, one thing of several."""
_WITH_OTHERS = frozenset(("rename", "exchange", "convert"))
"""What ALTER TABLE does by which it may be about a table that it names behind the first one; a foreign key names one, too, and leaves it as it is."""


class Does(Enum):
    """What a statement does."""

    NOTHING = auto()
    COMMITS = auto()
    ROLLS_BACK = auto()
    ENDS_XA = auto()
    EMPTIES = auto()
    ALTERS = auto()
    WRITES = auto()


@dataclass(frozen=True, slots=True)
class Told:
    """`tables`: those that it is about; all of them where it may be any."""

    does: Does
    tables: frozenset[Name] = frozenset()


def first_words(text: str) -> str:
    """What kind of statement it is, and at the most a name: no value."""
    return " ".join(token for token in list(_tokens(text))[:2] if re.fullmatch(r"\w+", token))


def told(text: str, schema: str, followed: Collection[Name]) -> Told:
    """What a statement does that was run in a schema."""
    return _told(list(_tokens(text)), schema, followed)


def _told(tokens: list[str], schema: str, followed: Collection[Name]) -> Told:
    words = [_word(each) for each in tokens]
    first, second = (*words, "", "")[:2]
    every = frozenset(followed)
    if (first, second) == ("set", "statement") and "for" in words:
        # MariaDB's settings for one statement, which follows.
        return _told(tokens[words.index("for") + 1 :], schema, followed)
    if first in ("", *_CONTROL) or (
        first == "xa" and second in ("start", "begin", "end", "prepare", "recover", "rollback")
    ):
        return Told(Does.COMMITS if first == "commit" else Does.NOTHING)
    if first == "xa":
        return Told(Does.ENDS_XA, every)
    if first == "rollback":
        return Told(Does.ROLLS_BACK, every)
    if first in _ANYTHING_ELSE or (first == "set" and second in ("password", "default", "role")):
        # MariaDB's ANALYZE of a statement runs it.
        is_run = first == "analyze" and {"table", "tables"}.isdisjoint(words[1:3])
        return Told(Does.WRITES, every) if is_run else Told(Does.NOTHING)
    if first == "truncate":
        return Told(Does.EMPTIES, _first(tokens[1 + (second == "table") :], schema, followed))
    if first in ("create", "alter", "drop", "rename"):
        return _defining(first, tokens, words, schema, every)
    return Told(Does.WRITES, every)


def _defining(first: str, tokens: list[str], words: list[str], schema: str, followed: frozenset[Name]) -> Told:
    kind = next(
        (
            each
            for each in words[1:]
            if each in ("table", "tables", "database", "schema", "temporary") or each in _OTHERS
        ),
        "",
    )
    if kind in _OTHERS or (kind == "temporary" and first == "drop"):
        return Told(Does.NOTHING)
    if kind == "temporary" and first == "create":
        # By rows it is not in the log: what a session does to it by statements looks as if it were done to the table of that name.
        hides = _first(tokens[words.index("temporary") + 2 :], schema, followed)
        return Told(Does.WRITES, hides) if hides else Told(Does.NOTHING)
    if kind in ("database", "schema"):
        dropped = {_plain(each).lower() for each in tokens[1:]} if first == "drop" else set[str]()
        return _alters(frozenset(name for name in followed if name[0].lower() in dropped))
    if kind not in ("table", "tables"):
        return Told(Does.WRITES, followed)
    behind = tokens[words.index(kind) + 1 :]
    if first == "create":
        # What is there already stays as it is. Behind its name another one may be that it is made like, or refers to.
        is_there = [_word(each) for each in behind[:3]] == ["if", "not", "exists"]
        return Told(Does.NOTHING) if is_there else _alters(_first(behind, schema, followed))
    if first == "alter":
        # With IGNORE a unique index deletes the rows that do not fit, and no log has them.
        is_strict = "ignore" not in words[: words.index(kind)]
        if is_strict and all(
            _HARMLESS.match(f"{' '.join(map(_word, each))} ") for each in _parts(_behind_name(behind))
        ):
            return Told(Does.NOTHING)
        if _WITH_OTHERS.isdisjoint(words):
            return _alters(_first(behind, schema, followed))
    return _alters(_named(behind, schema, followed))


def _alters(tables: frozenset[Name]) -> Told:
    return Told(Does.ALTERS, tables) if tables else Told(Does.NOTHING)


def _first(tokens: list[str], schema: str, followed: Collection[Name]) -> frozenset[Name]:
    at = next((place for place, each in enumerate(tokens) if _word(each) not in _MODIFIERS), 0)
    return _named(tokens[at : at + 3] if tokens[at + 1 : at + 2] == ["."] else tokens[at : at + 1], schema, followed)


def _behind_name(tokens: list[str]) -> list[str]:
    """What an ALTER TABLE does."""
    at = next((place for place, each in enumerate(tokens) if _word(each) not in _MODIFIERS), 0)
    return tokens[at + (3 if tokens[at + 1 : at + 2] == ["."] else 1) :]


def _parts(tokens: list[str]) -> list[list[str]]:
    """The things that it does, between which there are commas."""
    found, depth = list[list[str]]([[]]), 0
    for each in tokens:
        depth += (each == "(") - (each == ")")
        if each == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(each)
    return found


def _named(tokens: list[str], schema: str, followed: Collection[Name]) -> frozenset[Name]:
    """The tables whose names are among these, whichever case they are written in."""
    plain = [_plain(each).lower() for each in tokens]
    found = set[Name]()
    for own, name in followed:
        for place, each in enumerate(plain):
            if each != name.lower():
                continue
            is_qualified = place >= 2 and plain[place - 1] == "."
            if (plain[place - 2] if is_qualified else schema.lower()) == own.lower():
                found.add((own, name))
    return frozenset(found)


def _tokens(text: str) -> Iterator[str]:
    for found in _TOKEN.finditer(text):
        # Of a comment whose text the server runs, that text is left.
        if not found[0].startswith(("/*", "*/", "#", "--")):
            yield found[0]


def _word(token: str) -> str:
    """A name in quotes is no word."""
    return token.lower() if token[:1] not in "`'\"" else token


def _plain(token: str) -> str:
    quote = token[:1]
    if quote in '`"' and token.endswith(quote) and len(token) > 1:
        return token[1:-1].replace(2 * quote, quote)
    return token
