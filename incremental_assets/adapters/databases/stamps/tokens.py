"""The words of a default's expression or a trigger's body, as far as they are read at all: whatever is not known here raises NotRead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class NotRead(Exception):
    """The text is none that this program reads; nothing is concluded from it."""


class NotStamped(NotRead):
    """It is made of another column, which gets no value at this event."""


class Kind(StrEnum):
    """What a token is."""

    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One of them; a name that is not quoted is in lower case, a text is without its quotes."""

    kind: Kind
    text: str
    quoted: bool = False


_END = Token(Kind.END, "")
_TOKEN = re.compile(
    r"""(?P<space>(?:\s|--[^\n]*(?:\n|\Z)|/\*(?!M?!)(?:[^*/]|\*(?!/)|/(?!\*))*\*/)+)
    |(?P<text>'(?:[^'\\]|'')*')
    |(?P<quoted>"(?:[^"]|"")+"|`(?:[^`]|``)+`)
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<sign>::|:=|<=>|<>|!=|<=|>=|==|\|\||[(),.;:=<>*+/%&|!?~^@\[\]{}-])""",
    re.VERBOSE,
)


def tokens(text: str) -> tuple[Token, ...]:
    """All of them. Raises NotRead at a sign that none of them begins with, a text with a backslash among them, and at a comment that not every database ends at
    the same place, or that MariaDB and MySQL carry out."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (text.startswith("/*", at) and match.lastgroup != "space"):
            raise NotRead
        at = match.end()
        word = match.group()
        match match.lastgroup:
            case "text":
                found.append(Token(Kind.TEXT, word[1:-1].replace("''", "'")))
            case "quoted":
                found.append(Token(Kind.NAME, word[1:-1].replace(word[0] * 2, word[0]), quoted=True))
            case "name":
                found.append(Token(Kind.NAME, word.lower()))
            case "number":
                found.append(Token(Kind.NUMBER, word))
            case "sign":
                found.append(Token(Kind.SIGN, word))
    return tuple(found)


class Words:
    """Tokens that are read from the first to the last; asked for by their text, in which no text of the source's own is meant."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._found, self._at = tuple(found), 0

    @property
    def next(self) -> Token:
        """The next one, which stays."""
        return self._found[self._at] if self._at < len(self._found) else _END

    @property
    def after(self) -> Token:
        """The one behind it."""
        return self._found[self._at + 1] if self._at + 1 < len(self._found) else _END

    @property
    def is_done(self) -> bool:
        """Whether none is left."""
        return self.next is _END

    def take(self) -> Token:
        """The next one."""
        found = self.next
        self._at += 1
        return found

    def follows(self, *words: str) -> bool:
        """Whether these come next: names that are not quoted, or signs."""
        ahead = self._found[self._at : self._at + len(words)]
        return len(ahead) == len(words) and all(map(is_word, ahead, words))

    def accept(self, *words: str) -> bool:
        """Take these if they come next."""
        there = self.follows(*words)
        self._at += len(words) if there else 0
        return there

    def expect(self, *words: str) -> None:
        """Take these. Raises NotRead where others come."""
        if not self.accept(*words):
            raise NotRead

    def name(self) -> str:
        """A name, quoted or not. Raises NotRead where none comes."""
        found = self.take()
        if found.kind is not Kind.NAME:
            raise NotRead
        return found.text

    def text(self) -> str:
        """A text in quotes. Raises NotRead where none comes."""
        found = self.take()
        if found.kind is not Kind.TEXT:
            raise NotRead
        return found.text

    def number(self) -> int:
        """A whole number. Raises NotRead where none comes."""
        found = self.take()
        if found.kind is not Kind.NUMBER or not found.text.isdigit():
            raise NotRead
        return int(found.text)

    def end(self) -> None:
        """Raises NotRead unless all were taken."""
        if not self.is_done:
            raise NotRead

    def until(self, *ends: str) -> tuple[Token, ...]:
        """All up to one of these that stands in no parentheses; it stays. Raises NotRead where none comes."""
        found = self.until_end(*ends)
        if self.is_done:
            raise NotRead
        return found

    def until_end(self, *ends: str) -> tuple[Token, ...]:
        """The same; all that are left where none comes."""
        begin, depth = self._at, 0
        while not self.is_done:
            if depth == 0 and any(is_word(self.next, end) for end in ends):
                return self._found[begin : self._at]
            depth += {"(": 1, ")": -1}.get(self.next.text, 0) if self.next.kind is Kind.SIGN else 0
            self._at += 1
        return self._found[begin:]


def is_word(token: Token, word: str) -> bool:
    """Whether a token is this keyword, or this sign."""
    return token.text == word and not token.quoted and token.kind in (Kind.NAME, Kind.SIGN)
