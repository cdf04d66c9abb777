"""What catalogues of lineage call a table, a topic, files or a copy: by the naming of OpenLineage. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dataset:
    """`namespace` is where it is (`postgres://db:5432`), `name` what it is there (`shop.public.orders`)."""

    namespace: str
    name: str


def dataset_at(path: str) -> Dataset:
    """Of files at an address, or at an absolute path of this machine."""
    scheme, found, place = path.partition("://")
    if not found:
        return Dataset("file", path)
    authority, _, below = place.partition("/")
    return Dataset(f"{'s3' if scheme == 's3a' else scheme}://{authority}", below or "/")
