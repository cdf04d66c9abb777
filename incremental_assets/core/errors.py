"""The error tree, grouped by what the user has to do.

IncrementalAssetsError
├── fix the file        ConfigurationError, TooManyPartitions, SelectionError    exit 2
├── fix the machine     SetupError, CheckpointsUnreadable                        exit 1
├── wait and retry      Busy, SourceBusy (exit 4), SourceUnreachable, CheckpointsUnreachable,
│                       LeaseLost, EngineLost, SparkEnded                        exit 1
├── look at the source  SourceRefused, TableMissing, ColumnMissing, CursorMistyped,
│                       CursorIsNull, NoPrimaryKey, NameRefused, ZoneUnknown,
│                       ZoneDisputed                                             exit 1
├── look at the data    StageBroken, ContractBroken, CommitMissing               exit 1
└── stop and decide     Refused (exit 3), SourceExchanged, TargetChanged,
                        TermsChanged, SchemaChanged, CheckpointsTooNew           exit 1

Every message is one sentence that names the thing, the place and the cure. None carries a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from incremental_assets.core.words import agreeing, counted


class IncrementalAssetsError(Exception):
    """Base of the family; `str()` is the sentence that people read."""

    exit_code = 1


# --- fix the file ---------------------------------------------------------------------------------


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


class TooManyPartitions(IncrementalAssetsError):
    """A grid so fine that Dagster could not show it any more."""

    exit_code = 2

    def __init__(self, count: int, most: int, cure: str) -> None:
        super().__init__(f"{counted(count, 'partition')} are more than {most:,}; {cure}")


class SelectionError(IncrementalAssetsError):
    """The command line names something that does not exist or does not fit."""

    exit_code = 2


# --- fix the machine ------------------------------------------------------------------------------


class SetupError(IncrementalAssetsError):
    """Something that the product needs is missing on this machine."""


class CheckpointsUnreadable(IncrementalAssetsError):
    """The file at the path of the checkpoint database is not one."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"{where} is not a checkpoint database that can be read ({reason}); restore it from a backup, or move it away: "
            "the next sync then rebuilds the checkpoints from the lake"
        )


# --- wait and retry -------------------------------------------------------------------------------


class Busy(IncrementalAssetsError):
    """Another run holds the lease of the table."""

    exit_code = 4

    def __init__(self, table: object, owner: str) -> None:
        super().__init__(f"{table}: another run is syncing this table ({owner}); try again when it is done")


class SourceBusy(Busy):
    """A run of other tables works on the source, which serves one run at a time."""

    def __init__(self, table: object, source: str, run_id: str) -> None:
        IncrementalAssetsError.__init__(
            self,
            f"{table}: nothing was read, as run {run_id} of Dagster is working on the source {source!r}, which serves one run at a time; "
            "try again when it is done",
        )


class SourceUnreachable(IncrementalAssetsError):
    """The database does not answer, or refuses the connection."""


class CheckpointsUnreachable(IncrementalAssetsError):
    """The checkpoint database does not answer, is locked, or refuses. `where` is its address without a password."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"the checkpoint database {where} could not be used ({reason}); what was recorded is kept, try again when it answers"
        )


class LeaseLost(IncrementalAssetsError):
    """This run slept past its lease and another one took over."""

    def __init__(self, table: object) -> None:
        super().__init__(
            f"{table}: this run lost its lease to another one and stopped; nothing of it landed after that, and the next sync resumes"
        )


class Interrupted(IncrementalAssetsError):
    """The process, or its run, was interrupted."""

    def __init__(self, table: object) -> None:
        super().__init__(f"{table}: interrupted before it landed; the next sync resumes where this one stopped")


class EngineLost(IncrementalAssetsError):
    """The engine that a run used ended, or was stopped, during its work."""

    def __init__(self, pid: int, log: str) -> None:
        super().__init__(
            f"the engine (pid {pid}) ended in the middle of this; a run continues in its own session, `incremental-assets engine start` starts "
            f"another engine, and the log of this one is {log}"
        )


class SparkEnded(IncrementalAssetsError):
    """The JVM of a run's own session was killed, or gave up, in the middle of something."""

    def __init__(self, table: object, pid: int, status: int) -> None:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        super().__init__(
            f"{table}: Spark's JVM (pid {pid}) ended in the middle of this ({how}); the next sync resumes where this one stopped; if it was not stopped on purpose, "
            "the machine may have run out of memory, which its system log shows: give it more, or set `parallel: {tables: 1}`"
        )


# --- look at the source ---------------------------------------------------------------------------


class SourceRefused(IncrementalAssetsError):
    """The database answered a question with an error."""


class TableMissing(IncrementalAssetsError):
    """A configured table is not in the source's catalogue, or may not be read."""

    def __init__(self, table: object, hint: str = "") -> None:
        super().__init__(
            f"{table}: this user can see no such table; check the name and its grants, `doctor --sql` prints them{hint}"
        )


class ColumnMissing(IncrementalAssetsError):
    """A configured column is not in the table."""

    def __init__(self, table: object, role: str, column: str, existing: tuple[str, ...]) -> None:
        names = ", ".join(existing[:20]) + (", …" if len(existing) > 20 else "")
        super().__init__(f"{table}: the {role} column {column!r} does not exist; choose one of: {names}")


class CursorMistyped(IncrementalAssetsError):
    """The cursor's declared type does not fit the column's."""

    def __init__(self, table: object, column: str, declared: str, found: str, fits: str) -> None:
        super().__init__(f"{table}: the cursor {column!r} is declared as {declared} but the column is {found}; {fits}")


class CursorIsNull(IncrementalAssetsError):
    """Rows without a cursor under the policy `nulls: fail`."""

    def __init__(self, table: object, column: str, count: int) -> None:
        super().__init__(
            f"{table}: {counted(count, 'row')} {agreeing(count, 'has', 'have')} no {column!r}, so no sync would ever see {agreeing(count, 'it', 'them')}; "
            "fill the column, or choose `nulls: always`, `nulls: skip` or a `fallback` column for this cursor"
        )


class NoPrimaryKey(IncrementalAssetsError):
    """An upsert without a key."""

    def __init__(self, table: object, inherited: tuple[str, ...] = ()) -> None:
        why = (
            f"the source's own ({', '.join(inherited)}) does not hold for the rows of the tables that inherit from this one"
            if inherited
            else "the source declares none"
        )
        super().__init__(
            f"{table}: `upsert` needs a primary key and {why}; name it with `primary_key: [...]` or use `append`"
        )


class NameRefused(IncrementalAssetsError):
    """A name that the lake cannot hold."""


class ZoneUnknown(IncrementalAssetsError):
    """Stamps without a zone, in a zone that only the database knows."""

    def __init__(self, table: object, column: str, zone: str) -> None:
        super().__init__(
            f"{table}: the cursor {column!r} has no time zone and is read in the database's own, {zone!r}, which is not in the IANA time zone database; "
            "name the zone in which it is stamped at this table: `cursor: {zone: Europe/Paris}`"
        )


class ZoneDisputed(IncrementalAssetsError):
    """The source and this machine know different rules of one time zone."""

    def __init__(self, table: object, column: str, zone: str, *, theirs: datetime, ours: datetime) -> None:
        super().__init__(
            f"{table}: the cursor {column!r} is read in {zone}, where one moment is {theirs:%Y-%m-%d %H:%M} for the source and {ours:%Y-%m-%d %H:%M} "
            "for this machine, so that a watermark would pass over rows: bring the time zone data of both up to date (here the package `tzdata`), "
            "or sync by a `timestamp` column"
        )


# --- look at the data -----------------------------------------------------------------------------


class StageBroken(IncrementalAssetsError):
    """What was staged is not what the source showed."""


class ContractBroken(IncrementalAssetsError):
    """Rows, or the table as a whole, are not what its contract says."""


class LakeRefused(IncrementalAssetsError):
    """The lake's file system or store takes no more, or not from us."""


class CommitMissing(IncrementalAssetsError):
    """The log does not hold the commit that was asked for."""


class Overtaken(CommitMissing):
    """Another commit came to the table's log while this one was being written, which was refused for it."""


# --- stop and decide ------------------------------------------------------------------------------


class Refused(IncrementalAssetsError):
    """Destructive, and not asked for in so many words."""

    exit_code = 3


class SourceExchanged(IncrementalAssetsError):
    """The database behind the address is another one, or an older copy of itself."""


class TargetChanged(IncrementalAssetsError):
    """Another writer rewrote, restored or removed the table in the lake."""


class TermsChanged(IncrementalAssetsError):
    """Cursor, key, strategy or lake differ from what the landed rows were synced under."""


class SchemaChanged(IncrementalAssetsError):
    """The source's columns differ from the target's in a way that its policy, or rows that have landed, do not allow."""


class CheckpointsTooNew(IncrementalAssetsError):
    """The checkpoint table was written by a newer version of this program."""


# --- any error as a sentence ----------------------------------------------------------------------


def sentence(error: BaseException) -> str:
    """An error in one sentence; one that is not of the family names its type, its traceback belongs to the log."""
    if isinstance(error, IncrementalAssetsError):
        return str(error)
    first = next(iter(str(error).strip().splitlines()), "")
    return f"unexpected {type(error).__name__}" + (f": {first}" if first else "")


def sentence_of(table: object, error: BaseException) -> str:
    """The same, with the table: those of the family name it themselves."""
    return str(error) if isinstance(error, IncrementalAssetsError) else f"{table}: {sentence(error)}"
