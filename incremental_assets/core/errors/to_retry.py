"""Wait and retry: something else works, does not answer, or ended."""

from __future__ import annotations

from incremental_assets.core.errors.family import IncrementalAssetsError


class Busy(IncrementalAssetsError):
    """Another run holds the lease of the table."""

    exit_code = 4

    def __init__(self, table: object, owner: str) -> None:
        super().__init__(f"{table}: another run is syncing this table ({owner}); try again when it is done")


class SourceBusy(Busy):
    """A run of other tables works on the source, which serves one run at a time."""

    def __init__(self, table: object, source: str, run_id: str, process: str = "", configuration: str = "") -> None:
        """`process` executes that run, if it is known; `configuration` is the file that it works for, where that is another one."""
        known = ", ".join(
            each for each in (process, configuration and f"for the configuration {configuration}") if each
        )
        IncrementalAssetsError.__init__(
            self,
            f"{table}: nothing was read, as run {run_id} of Dagster is working on the source {source!r}, which serves one run at a time"
            f"{f' ({known})' if known else ''}; try again when it is done"
            f"{', or give each of the two configurations a DAGSTER_HOME of its own' if configuration else ''}",
        )


class Paused(Busy):
    """A person has paused the table, or its source: nobody writes it until a person resumes it."""

    def __init__(self, table: object, told: str, resume: str) -> None:
        """`told`: since when, by whom and why; `resume`: the command that ends it."""
        IncrementalAssetsError.__init__(self, f"{table}: {told}; nothing of it is synced before {resume}")


class SourceUnreachable(IncrementalAssetsError):
    """The database does not answer, or refuses the connection."""


class SourceFull(SourceUnreachable):
    """The database answers, and has no connection left; or other processes hold all that `parallel` allows."""


class ChannelDown(IncrementalAssetsError):
    """A channel of `notify` did not take what there was to say."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")


class CheckpointsUnreachable(IncrementalAssetsError):
    """The checkpoint database does not answer, is locked, or refuses. `where` is its address without a password."""

    def __init__(self, where: str, reason: str, cure: str = "try again when it answers") -> None:
        super().__init__(
            f"the checkpoint database {where} could not be used ({reason}); what was recorded is kept, {cure}"
        )


class CatalogueUnreachable(IncrementalAssetsError):
    """A data catalogue does not answer, or rejects whoever asks it."""


class StoreUnreachable(IncrementalAssetsError):
    """The store of the lake does not answer, or not so that anybody could tell what it has."""


class LeaseLost(IncrementalAssetsError):
    """This run slept past its lease and another one took over."""

    def __init__(self, table: object) -> None:
        super().__init__(
            f"{table}: this run lost its lease to another one and stopped; nothing of it landed after that, and the next sync goes on from what has landed"
        )


class Interrupted(IncrementalAssetsError):
    """The process, or its run, was interrupted."""

    def __init__(self, table: object) -> None:
        super().__init__(f"{table}: interrupted before it landed; the next sync goes on from what has landed")


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
            f"{table}: Spark's JVM (pid {pid}) ended in the middle of this ({how}); the next sync goes on from what has landed; if it was not stopped on purpose, "
            "the machine may have run out of memory, which its system log shows: give it more, or set `parallel: {tables: 1}`"
        )
