"""The base of all errors that a user can cause, and any error as a sentence."""

from __future__ import annotations

from typing import Self


class IncrementalAssetsError(Exception):
    """Base of the family; `str()` is the sentence that people read."""

    exit_code = 1

    def at(self, place: str, /) -> Self:
        """The same, with the place in the file that it is about: `file:line`, or nothing."""
        if place:
            self.args = (f"{self} ({place})", *self.args[1:])
        return self


def sentence(error: BaseException) -> str:
    """An error in one sentence; one that is not of the family names its type, its traceback belongs to the log."""
    if isinstance(error, IncrementalAssetsError):
        return str(error)
    first = next(iter(str(error).strip().splitlines()), "")
    return f"unexpected {type(error).__name__}" + (f": {first}" if first else "")


def sentence_of(table: object, error: BaseException) -> str:
    """The same, with the table: those of the family name it themselves."""
    return str(error) if isinstance(error, IncrementalAssetsError) else f"{table}: {sentence(error)}"
