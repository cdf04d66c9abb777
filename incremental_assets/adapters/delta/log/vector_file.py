"""The names of files that hold deletion vectors, as a log writes them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from incremental_assets.adapters.delta.log import z85
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks

_UUID_SIGNS = 20


def file_of(descriptor: Mapping[str, Any] | None) -> str | None:
    """The name of the file that holds a vector; None for one that stands in the log itself. Raises NotByTasks for one that is not known here."""
    if descriptor is None or descriptor["storageType"] == "i":
        return None
    if descriptor["storageType"] != "u":
        raise NotByTasks("a deletion vector lies outside of the table")
    return name_of(descriptor["pathOrInlineDv"])


def name_of(text: str) -> str:
    """`<folder><uuid>`: the folder's characters are drawn at random by writers that spread their files."""
    folder, name = text[:-_UUID_SIGNS], uuid.UUID(bytes=z85.decoded(text[-_UUID_SIGNS:])[:16])
    return f"{folder}/deletion_vector_{name}.bin" if folder else f"deletion_vector_{name}.bin"
