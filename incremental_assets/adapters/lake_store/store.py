"""What a lake asks of the place where its files are. A key is a whole address: an absolute path, or `s3://bucket/…`.

An implementation promises what stands here, and says in `Promises` what it cannot. Both are held to one suite (`tests/adapters/lake_store/contract.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


class NotOffered(Exception):
    """The place has no way to do this; the message is half a sentence that says what it lacks."""


@dataclass(frozen=True, slots=True)
class Promises:
    """What differs between places.

    `whole`: a file is there whole or not at all, however its writer has ended. `paged`: a listing comes in pages, each of them a request, so that it
    begins after what is known. `locks`: processes of one machine can keep each other out. `spark_commits`: so can commits of Spark's own, with ours or without.
    """

    whole: bool
    paged: bool
    locks: bool
    spark_commits: bool


@dataclass(frozen=True, slots=True)
class Head:
    """Of a file. `tag`: what another one under the same key would have otherwise."""

    bytes: int
    tag: str
    at: datetime
    """When it was last written, in UTC."""
    version: str = ""
    """What the place calls this one among those that it keeps under the key; empty where it keeps one."""


class Reading(Protocol):
    """Files as they are."""

    promises: Promises

    def list_from(self, folder: str, after: str = "") -> Mapping[str, str]:
        """The names in a folder that come after a name, and the tag of each, empty where a listing does not say it.

        What lies in folders within is left out where they are not files of their own. Raises FileNotFoundError where there is no such folder; a store,
        which has no folders, finds none in it. Raises TargetChanged for what may not be listed.
        """

    def files_in(self, folder: str) -> Iterator[tuple[str, Head]]:
        """Every file in a folder and in those within, by its name below it; nothing where there is no such folder. Raises TargetChanged for what may not be listed."""

    def read(self, key: str, begin: int = 0, stop: int | None = None) -> bytes:
        """The bytes of a file, or those between two places, as far as it has them. Raises FileNotFoundError, and TargetChanged for what may not be read, or is no regular file."""

    def end(self, key: str, count: int) -> tuple[int, bytes]:
        """The size of a file, and its last bytes. Raises as `read`."""

    def check(self, key: str) -> None:
        """Checks what a library is about to open. Raises as `read`; a place where nothing but files can be does nothing."""

    def head(self, key: str) -> Head | None:
        """What is known of a file without its bytes; None where there is none."""

    def size(self, key: str) -> int | None:
        """The bytes of a file; None where there is none. Raises TargetChanged for what may not be looked at."""

    def for_arrow(self, key: str) -> Any:
        """The file as Arrow opens it, which reads the parts that it needs."""


class Writing(Protocol):
    """Files that come and go."""

    def put(self, key: str, data: bytes) -> None:
        """Put a file, whatever is there. It need not outlast the power of the machine."""

    def replace(self, key: str, data: bytes) -> None:
        """The same as a whole, which outlasts the power of the machine."""

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Put a file where there is none; False where there is another's. It outlasts the power of the machine before this returns.

        `data` must be of this caller alone: where the place does not answer plainly, what is there is read, and is ours if it is the same. Raises
        NotOffered for a place that cannot, and StoreUnclear where nobody can tell: then the file may be there.
        """

    def new(self, key: str) -> AbstractContextManager[Any]:
        """A file that was not there, to be written from its begin to its end. It outlasts the power of the machine once the block ends, and is not there where the block fails."""

    def passing(self, key: str) -> AbstractContextManager[Any]:
        """The same of one that need not outlast the power of the machine, and of which a part may stay where the block fails."""

    def delete(self, key: str) -> None:
        """Remove a file; silent if there is none."""

    def delete_prefix(self, folder: str) -> None:
        """Remove a folder and all in it; silent if there is none."""


class Keeping(Protocol):
    """What only a folder has to be asked for; a store does nothing."""

    def settle(self, folder: str) -> None:
        """After this, files that were put into a folder outlast the power of the machine."""

    def make_folder(self, folder: str) -> None:
        """A folder that outlasts the power of the machine."""

    def own_folder(self, folder: str) -> None:
        """A folder for this user alone, as are those above it, unless they are there."""

    def unfinished(self, key: str) -> str:
        """The key under which a file is written that is to appear as a whole: its own, where it does so anyway."""

    def finish(self, key: str) -> None:
        """Give a file that was written under `unfinished` the key that counts."""

    def touch(self, key: str) -> None:
        """Say of a file that it was written just now; silent if there is none."""

    def adopt(self, key: str) -> None:
        """Take from a file that a library has made the rights that one of ours would not have."""


class LakeStore(Reading, Writing, Keeping, Protocol):
    """One place."""
