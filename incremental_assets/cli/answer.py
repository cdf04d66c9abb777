"""The answer of a command: a JSON document, the same for people, and an exit status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from incremental_assets.core.errors import ConfigurationError, IncrementalAssetsError

DONE, FAILED, WRONG, REFUSED, BUSY, INTERRUPTED = 0, 1, 2, 3, 4, 130


@dataclass(frozen=True, slots=True)
class Cell:
    """One text of a table. `tone` is its meaning: good, bad, warn, dim or nothing."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for people. Columns named in `right` are numbers. On a narrow terminal those in `prose` and `spare` are folded first, and of the latter the last is left out first."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    right: frozenset[str] = frozenset()
    spare: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence below or above a table; `wrap` is False for text that people copy from the terminal."""

    text: str
    tone: str = ""
    wrap: bool = True


Shown = Grid | Note


@dataclass(frozen=True, slots=True)
class Answer:
    """`document` is what `--json` prints; `shown` is printed otherwise."""

    document: Mapping[str, Any]
    shown: Sequence[Shown] = field(default=())
    exit_code: int = DONE


def quietened(answer: Answer) -> Answer:
    """Nothing for people but warnings where all is well; what is not well is shown whole."""
    if answer.exit_code != DONE:
        return answer
    return replace(
        answer, shown=tuple(each for each in answer.shown if isinstance(each, Note) and each.tone in ("warn", "bad"))
    )


def error_document(error: BaseException, exit_code: int, **more: Any) -> dict[str, Any]:
    """The document of a command that could not answer."""
    document: dict[str, Any] = {
        "error": {"kind": type(error).__name__, "message": str(error), "exit_code": exit_code, **more}
    }
    if isinstance(error, ConfigurationError):
        document["error"]["problems"] = [
            {"file": problem.file, "line": problem.line, "text": problem.text, "cure": problem.cure}
            for problem in error.problems
        ]
    return document


def exit_code_of(error: BaseException) -> int:
    """The family says its own; everything else is a failure."""
    return error.exit_code if isinstance(error, IncrementalAssetsError) else FAILED


def worst(codes: Sequence[int]) -> int:
    """The exit code of several tables: wrong input outweighs a failure, a failure a refusal, a refusal a table that was busy; DONE without any of them."""
    return next((code for code in (WRONG, FAILED, REFUSED, BUSY) if code in codes), DONE)
