"""Fix the file, or the machine: nothing was tried yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from incremental_assets.core.errors.family import IncrementalAssetsError
from incremental_assets.core.words import counted


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake of the configuration: where it is, what is written there, what to write instead."""

    file: str
    line: int
    text: str
    cure: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}: {self.cure}"


class ConfigurationError(IncrementalAssetsError):
    """Every mistake of a configuration at once."""

    exit_code = 2

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def at(self, _place: str, /) -> Self:
        """Each mistake names its own place."""
        return self


class TooManyPartitions(IncrementalAssetsError):
    """A grid so fine that Dagster could not show it any more."""

    exit_code = 2

    def __init__(self, count: int, most: int, cure: str) -> None:
        super().__init__(f"{counted(count, 'partition')} are more than {most:,}; {cure}")


class SelectionError(IncrementalAssetsError):
    """The command line names something that does not exist or does not fit."""

    exit_code = 2


class SetupError(IncrementalAssetsError):
    """Something that the product needs is missing on this machine."""


class CheckpointsUnreadable(IncrementalAssetsError):
    """The file at the path of the checkpoint database is not one."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"{where} is not a checkpoint database that can be read ({reason}); restore it from a backup, or move it away: "
            "the next sync then rebuilds the checkpoints from the lake"
        )
