"""What a store of objects says, as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from incremental_assets.core.errors import LakeRefused, StoreUnreachable

_DENIED = (PermissionDeniedError, UnauthenticatedError)
_STATUS = ("403 Forbidden", "401 Unauthorized")
"""What of a listing and of a removal stands in the words alone."""


@contextmanager
def explained(key: str) -> Iterator[None]:
    """Raises FileNotFoundError as it is, LakeRefused where the store denies it or has no such bucket, StoreUnreachable for all else."""
    try:
        yield
    except FileNotFoundError as error:
        if lacks_bucket(error):
            raise no_bucket(key) from None
        raise
    except (BaseError, OSError) as error:
        if lacks_bucket(error):
            raise no_bucket(key) from None
        if is_denied(error):
            raise refused(key, first_line(error)) from None
        raise StoreUnreachable(
            f"{key}: the store did not answer ({first_line(error)}); nothing was lost, try again when it does"
        ) from None


def is_denied(error: BaseException) -> bool:
    """Whether the store has understood, and will not."""
    return isinstance(error, _DENIED) or any(each in first_line(error) for each in _STATUS)


def lacks_bucket(error: BaseException) -> bool:
    """Whether a store says that the bucket itself is not there; S3 says it of no request in another way."""
    return "NoSuchBucket" in str(error)


def no_bucket(key: str) -> LakeRefused:
    """The error where it is not."""
    scheme, _, rest = key.partition("://")
    return LakeRefused(
        f"{scheme}://{rest.partition('/')[0]}: there is no such bucket; make it, or write its name in `lake` as it is"
    )


def refused(key: str, said: str) -> LakeRefused:
    """The error where a store denies something."""
    return LakeRefused(f"{key}: the store denies it ({said}); check its credentials and the rights that they have")


def first_line(error: BaseException) -> str:
    """The first line of what it says."""
    return next(iter(str(error).splitlines()), type(error).__name__)
