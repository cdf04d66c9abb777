"""A folder of files in a store of objects, and what its answers mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.lake_store.opened import options_of
from incremental_assets.adapters.lake_store.patience import is_at_work
from incremental_assets.core.errors import IncrementalAssetsError, LakeRefused, SourceRefused, SourceUnreachable
from incremental_assets.core.extras import S3
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Bucket:
    """`prefix`: what the keys of the folder begin with."""

    client: Any
    prefix: str

    @classmethod
    def of(cls, folder: str) -> Bucket:
        """Raises SetupError where the client of stores is missing, SourceRefused where nobody has credentials."""
        S3.require()
        scheme, _, rest = folder.partition("://")
        bucket, _, prefix = rest.partition("/")
        root = f"{scheme}://{bucket}"
        options = tuple(sorted(options_of(root).items()))
        try:
            return cls(_client(root, options, waits=is_at_work()), f"{prefix}/" if prefix else "")
        except LakeRefused as why:
            raise SourceRefused(str(why)) from None

    def key(self, path: str) -> str:
        """Of a file below the folder."""
        return f"{self.prefix}{path}"


def tag_of(told: Mapping[str, Any]) -> str:
    """What the store calls this content; where it has no name for it, since when it is there."""
    at: datetime = told["last_modified"]
    return str(told["e_tag"] or int(at.timestamp()))


@contextmanager
def listing(table: TableId, folder: str) -> Iterator[None]:
    """Raises SourceRefused where the store has no such bucket, denies it, or has a key that is no path; SourceUnreachable for all else."""
    from obstore.exceptions import BaseError, InvalidPathError

    from incremental_assets.adapters.lake_store.explained import cure, is_denied, lacks_bucket, silence, told

    unknown = "so that nobody knows which files are there"
    try:
        yield
    except InvalidPathError as error:
        raise SourceRefused(
            f"{table}: {folder!r} has an object whose key is no path ({told(error)}), {unknown}; have it written under another key"
        ) from None
    except (BaseError, OSError) as error:
        if lacks_bucket(error):
            raise SourceRefused(
                f"{table}: {folder!r} is in no bucket that is there; make it, or correct `folder`"
            ) from None
        if is_denied(error):
            raise SourceRefused(
                f"{table}: {folder!r} cannot be listed ({told(error)}), {unknown}; {cure(error)}"
            ) from None
        why = f"{table}: {folder}: {silence(error)}"
        raise SourceUnreachable(why) from None


@contextmanager
def reading(table: TableId, path: str, gone: IncrementalAssetsError) -> Iterator[None]:
    """Raises `gone` where there is no such object, SourceRefused where the store denies it, SourceUnreachable for all else."""
    from obstore.exceptions import BaseError

    from incremental_assets.adapters.lake_store.explained import cure, is_denied, silence, told

    try:
        yield
    except FileNotFoundError:
        raise gone from None
    except (BaseError, OSError) as error:
        if is_denied(error):
            raise SourceRefused(f"{table}: the store denies the file {path!r} ({told(error)}); {cure(error)}") from None
        why = f"{table}: nothing of this list has landed, as for the file {path!r} {silence(error)}"
        raise SourceUnreachable(why) from None


@cache
def _client(root: str, options: tuple[tuple[str, str], ...], *, waits: bool) -> Any:
    from incremental_assets.adapters.lake_store.objects import client, patient

    return client(root, dict(options), patient() if waits else None)
