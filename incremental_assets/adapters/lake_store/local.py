"""A lake in a folder of this machine: what is there was opened as a plain file, and what is put there is on disk before it has a name."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from incremental_assets.adapters.lake_store.store import Head, NotOffered, Promises
from incremental_assets.adapters.new_file import as_ours, new_file, sync_folder
from incremental_assets.adapters.permissions import own_folder, plain_file
from incremental_assets.core.errors import TargetChanged

_MODE = 0o750
"""The mode with which a JVM of ours makes its folders, see `adapters.permissions`."""
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What a file system says that has no hard links."""


class LocalStore:
    """Implements `LakeStore`. A file is opened only where it is a regular one: somebody who may write to the lake can put a pipe there, for which a reader would wait forever."""

    promises = Promises(whole=False, paged=False, locks=True, spark_commits=True)

    def list_from(self, folder: str, after: str = "") -> Mapping[str, str]:
        """The names, of which none says its tag."""
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are all that is asked
        except FileNotFoundError:
            if os.path.lexists(folder):
                raise TargetChanged(f"{folder} is a link to nothing, where the lake has a folder; remove it") from None
            raise
        except NotADirectoryError:
            raise TargetChanged(f"{folder} is no folder, where the lake has one; move it away") from None
        except OSError as error:
            raise TargetChanged(f"{folder} cannot be listed ({error.strerror}); let this user read it") from error
        return dict.fromkeys((name for name in names if name > after) if after else names, "")

    def files_in(self, folder: str) -> Iterator[tuple[str, Head]]:
        """Folders and files alone: links are followed nowhere, and are none."""
        for name in sorted(self.list_from(folder) if os.path.lexists(folder) else ()):
            key = f"{folder}/{name}"
            try:
                found = os.lstat(key)
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(found.st_mode):
                yield from ((f"{name}/{below}", head) for below, head in self.files_in(key))
            elif stat.S_ISREG(found.st_mode):
                yield name, _head(found)

    def read(self, key: str, begin: int = 0, stop: int | None = None) -> bytes:
        """The file's bytes, or some of them."""
        descriptor = _opened(key)
        if stop is not None:
            try:
                return os.pread(descriptor, stop - begin, begin)
            finally:
                os.close(descriptor)
        with os.fdopen(descriptor, "rb") as opened:
            if begin:
                opened.seek(begin)
            return opened.read()

    def end(self, key: str, count: int) -> tuple[int, bytes]:
        """The file's size, and the last of its bytes."""
        descriptor = _opened(key)
        try:
            size = os.fstat(descriptor).st_size
            return size, os.pread(descriptor, count, max(0, size - count))
        finally:
            os.close(descriptor)

    def check(self, key: str) -> None:
        """Opens it once, and reads nothing."""
        os.close(_opened(key))

    def head(self, key: str) -> Head | None:
        """The tag is inode, time and size."""
        try:
            found = os.stat(key)  # noqa: PTH116 - spares a path
        except OSError:
            return None
        return _head(found)

    def size(self, key: str) -> int | None:
        """By its path as a text: a `Path` of each of thousands takes ten times as long."""
        try:
            return os.stat(key).st_size  # noqa: PTH116
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TargetChanged(f"{key}: {error.strerror}") from None

    def for_arrow(self, key: str) -> str:
        """The path."""
        return key

    def settle(self, folder: str) -> None:
        """The names in the folder, on disk."""
        sync_folder(Path(folder))

    def put(self, key: str, data: bytes) -> None:
        """In place: a reader may see half of it."""
        Path(key).write_bytes(data)

    def replace(self, key: str, data: bytes) -> None:
        """Written beside, on disk, and renamed."""
        target = Path(key)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4()}.tmp")
        with new_file(temporary) as file:
            file.write(data)
        temporary.replace(target)
        sync_folder(target.parent)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Written beside, on disk, and linked to its name, which fails if the name is taken. Where there are no hard links, this is not offered."""
        target = Path(key)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4()}.tmp")
        try:
            with new_file(temporary) as file:
                file.write(data)
            if not _linked(temporary, target):
                return False
            sync_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
        return True

    def new(self, key: str) -> AbstractContextManager[BinaryIO]:
        """See `new_file`."""
        return new_file(Path(key))

    def passing(self, key: str) -> AbstractContextManager[BinaryIO]:
        """With the mode of its process."""
        return Path(key).open("wb")

    def unfinished(self, key: str) -> str:
        """Hidden in the same folder."""
        folder, _, name = key.rpartition("/")
        return f"{folder}/.{name}"

    def finish(self, key: str) -> None:
        """By a rename."""
        Path(self.unfinished(key)).rename(key)

    def own_folder(self, folder: str) -> None:
        """See `permissions`."""
        own_folder(Path(folder))

    def make_folder(self, folder: str) -> None:
        """With those above it, each of them on disk."""
        path = Path(folder)
        for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
            missing.mkdir(mode=_MODE, exist_ok=True)
            sync_folder(missing.parent)

    def touch(self, key: str) -> None:
        """By the clock of this machine."""
        with suppress(OSError):
            os.utime(key)

    def adopt(self, key: str) -> None:
        """By the mode of `new_file`."""
        as_ours(Path(key))

    def delete(self, key: str) -> None:
        """Remove the file."""
        Path(key).unlink(missing_ok=True)

    def delete_prefix(self, folder: str) -> None:
        """Remove the folder, as far as it goes."""
        shutil.rmtree(folder, ignore_errors=True)


def _head(found: os.stat_result) -> Head:
    at = datetime.fromtimestamp(found.st_mtime, UTC)
    return Head(found.st_size, f"{found.st_ino} {found.st_mtime_ns} {found.st_size}", at)


def _opened(key: str) -> int:
    try:
        descriptor = plain_file(Path(key))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TargetChanged(
            f"{key} cannot be read ({error.strerror}); let this user read it, or move it away"
        ) from None
    if descriptor is None:
        raise TargetChanged(f"{key} is no file, but a pipe or a device; remove it")
    return descriptor


def _linked(temporary: Path, target: Path) -> bool:
    try:
        os.link(temporary, target)
    except FileExistsError:
        # A server of files may answer a question that it was asked twice: then the second link is there, and it is ours.
        return temporary.stat().st_nlink > 1
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise NotOffered("its file system has no hard links") from error
        raise
    return True
