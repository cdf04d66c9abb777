"""What a store of objects says, as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from incremental_assets.core.errors import LakeRefused, StoreUnreachable

DENIED = (PermissionDeniedError, UnauthenticatedError)


@contextmanager
def explained(key: str) -> Iterator[None]:
    """Raises FileNotFoundError as it is, LakeRefused where the store denies it, StoreUnreachable for all else."""
    try:
        yield
    except FileNotFoundError:
        raise
    except DENIED as error:
        raise refused(key, first_line(error)) from None
    except (BaseError, OSError) as error:
        raise StoreUnreachable(
            f"{key}: the store did not answer ({first_line(error)}); nothing was lost, try again when it does"
        ) from None


def refused(key: str, said: str) -> LakeRefused:
    """The error where a store denies something."""
    return LakeRefused(f"{key}: the store denies it ({said}); check its credentials and the rights that they have")


def first_line(error: BaseException) -> str:
    """The first line of what it says."""
    return next(iter(str(error).splitlines()), type(error).__name__)
