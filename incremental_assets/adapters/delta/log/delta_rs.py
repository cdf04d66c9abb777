"""A table by delta-rs: checkpoints, and what our own replay of a log cannot read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from incremental_assets.adapters.lake_store.opened import options_of

if TYPE_CHECKING:
    from deltalake import DeltaTable


def opened(path: str, version: int | None = None) -> DeltaTable:
    """Raises what delta-rs raises."""
    from deltalake import DeltaTable

    # Hadoop and delta-rs name one store differently.
    address = "s3://" + path.removeprefix("s3a://") if path.startswith("s3a://") else path
    return DeltaTable(address, version=version, storage_options=_options(path))


def _options(path: str) -> dict[str, str] | None:
    options = dict(options_of(path))
    if options.get("aws_endpoint", "").startswith("http://"):
        options["aws_allow_http"] = "true"
    if "aws_access_key_id" in options and os.environ.get("AWS_SESSION_TOKEN"):
        # Else it would send that one, which is of another key, and no secret of this store.
        options.setdefault("aws_session_token", "")
    return options or None
