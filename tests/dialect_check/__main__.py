"""`make dialect-check URL=…`: does a server of yours keep the contract of all databases? Its password is read from the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from incremental_assets.core.discovery.source_url import parse_url
from incremental_assets.core.errors import IncrementalAssetsError, SelectionError
from tests.dialect_check.worlds import PREFIX, kinds

_PLAYED = Path(__file__).with_name("played.py")
_FORM = "write make dialect-check URL=dialect://user@host:port/database"


def main(arguments: list[str]) -> int:
    """The exit status: of the tests, or 2 where the address cannot be played."""
    try:
        variable = _checked(arguments[0] if arguments else "")
    except IncrementalAssetsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(
        f"each test makes a database {PREFIX}… of its own and drops it, and touches no other; the password is that of ${variable}\n"
    )
    sys.stdout.flush()
    os.environ["DIALECT_CHECK_URL"] = arguments[0]
    return int(pytest.main(["-q", str(_PLAYED), *arguments[1:]]))


def _checked(text: str) -> str:
    """Where the password is read from."""
    if not text:
        raise SelectionError(f"no address of a database is given; {_FORM}")
    url = parse_url(text)
    if url.dialect not in kinds():
        raise SelectionError(f"{url.dialect} has no server to check; use {', '.join(kinds())}")
    return url.variable


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
