"""Look at the data, or stop and decide: going on could lose rows."""

from __future__ import annotations

from incremental_assets.core.errors.family import IncrementalAssetsError


class StageBroken(IncrementalAssetsError):
    """What was staged is not what the source showed."""


class ContractBroken(IncrementalAssetsError):
    """Rows, or the table as a whole, are not what its contract says."""


class LakeRefused(IncrementalAssetsError):
    """The lake's storage is full, denies access, or has another program's file where a lock of ours belongs."""


class CommitMissing(IncrementalAssetsError):
    """The log does not hold the commit that was asked for."""


class Overtaken(CommitMissing):
    """Another commit came to the table's log while this one was being written, which was refused for it."""


class Refused(IncrementalAssetsError):
    """What a command or a sync would do is destructive, and was not confirmed."""

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


class RegistrationRefused(IncrementalAssetsError):
    """A data catalogue has another table of that name, or lacks what a table needs."""
