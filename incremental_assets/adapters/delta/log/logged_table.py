"""What a log tells of its table, by either of two readers: our own replay of its log, or delta-rs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from incremental_assets.adapters.delta.log import conserved, delta_rs, log_cache

if TYPE_CHECKING:
    from deltalake import DeltaTable

Info = tuple[int, Mapping[str, Any]]
"""A version, and what its commit says of itself."""


class LoggedTable(Protocol):
    """A table at the version at which it was opened."""

    version: int
    table_id: str
    properties: Mapping[str, str]
    writer_features: frozenset[str]
    partition_columns: Sequence[str]
    fields: Sequence[Mapping[str, Any]]
    """Columns, as the schema's JSON has them."""
    comment: str
    """What the table says of itself; empty where it says nothing."""

    def last_sequence(self, app_id: str) -> int | None:
        """The last sequence committed under an app id."""

    def commits(self) -> Iterator[Info]:
        """Newest first; those that log cleaning has removed are missing."""

    def sizes(self) -> Sequence[int]:
        """Bytes of each file."""

    def rows_in_files(self) -> int | None:
        """The rows, with those that deletion vectors mark; None where a file does not tell."""

    def rows(self) -> int:
        """The rows, without those that deletion vectors mark."""

    def loses_rows(self, version: int) -> bool:
        """Whether a commit is known to have left another number of rows than there were, or to hide some by its statistics."""

    def has_files_of(self, version: int) -> bool:
        """Whether its files, and the rows that are marked in them, are known to be those of an earlier version."""


class ReplayedTable:
    """A table as our own replay of its log has it."""

    def __init__(self, path: str, seen: log_cache.Seen) -> None:
        self._path, self._seen = path, seen
        state = seen.state
        self.version = state.version
        self.table_id = str(state.metadata.get("id", ""))
        self.properties: Mapping[str, str] = state.properties
        self.writer_features = frozenset(state.protocol.get("writerFeatures") or ())
        self.partition_columns: Sequence[str] = state.metadata.get("partitionColumns") or ()
        self.fields: Sequence[Mapping[str, Any]] = json.loads(state.metadata["schemaString"])["fields"]
        self.comment = str(state.metadata.get("description") or "")

    def last_sequence(self, app_id: str) -> int | None:
        """The last sequence committed under an app id."""
        return self._seen.state.sequences.get(app_id)

    def commits(self) -> Iterator[Info]:
        """Newest first."""
        for version in range(self.version, -1, -1):
            info = self._seen.infos.get(version)
            if info is None:
                info = log_cache.info_of(self._path, version)
            if info is None:
                return
            yield version, info

    def sizes(self) -> Sequence[int]:
        """Bytes of each file."""
        return [int(each["size"]) for each in self._seen.state.files.values()]

    def rows_in_files(self) -> int | None:
        """The rows in its files by their statistics, those that deletion vectors mark included; None where a file has none."""
        rows = [json.loads(each.get("stats") or "{}").get("numRecords") for each in self._seen.state.files.values()]
        return None if None in rows else sum(rows)

    def rows(self) -> int:
        """Those in its files, less those that vectors mark."""
        held = self.rows_in_files()
        if held is None:
            return DeltaRsTable.opened(self._path, self.version).rows()
        vectors = (each.get("deletionVector") or {} for each in self._seen.state.files.values())
        return held - sum(int(vector.get("cardinality", 0)) for vector in vectors)

    def loses_rows(self, version: int) -> bool:
        """By the statistics of its files; see `conserved.py`."""
        return conserved.loses_rows(self._path, version)

    def has_files_of(self, version: int) -> bool:
        """By both states of its log."""
        return conserved.same_files(self._path, self._seen.state, version)


class DeltaRsTable:
    """A table as delta-rs opens it: one whose log our own replay cannot read."""

    def __init__(self, table: DeltaTable) -> None:
        metadata = table.metadata()
        self._table = table
        self.version = table.version()
        self.table_id = str(metadata.id)
        self.properties: Mapping[str, str] = dict(metadata.configuration)
        self.writer_features = frozenset(table.protocol().writer_features or ())
        self.partition_columns: Sequence[str] = metadata.partition_columns
        self.fields: Sequence[Mapping[str, Any]] = json.loads(table.schema().to_json())["fields"]
        self.comment = str(metadata.description or "")

    @classmethod
    def opened(cls, address: str, version: int | None = None) -> DeltaRsTable:
        """Raises what delta-rs raises."""
        return cls(delta_rs.opened(address, version))

    def last_sequence(self, app_id: str) -> int | None:
        """The last sequence committed under an app id."""
        return self._table.transaction_version(app_id)

    def commits(self) -> Iterator[Info]:
        """Newest first, read as far back as the caller asks: nearly always, the first ones are enough, and each costs one small file."""
        seen = 0
        for limit in (20, 500, None):
            entries = self._table.history(limit)
            yield from ((int(entry["version"]), entry) for entry in entries[seen:])
            seen = len(entries)
            if limit is not None and seen < limit:
                return

    def loses_rows(self, version: int) -> bool:  # noqa: ARG002
        """Its log is not read here."""
        return False

    def has_files_of(self, version: int) -> bool:  # noqa: ARG002
        """Nor here."""
        return False

    def sizes(self) -> Sequence[int]:
        """Bytes of each file."""
        return list(self._table.get_add_actions(flatten=True).column("size_bytes").to_pylist())

    def rows_in_files(self) -> int | None:
        """The rows in its files by their statistics, those that deletion vectors mark included; None where a file has none."""
        rows = self._table.get_add_actions(flatten=True).column("num_records").to_pylist()
        return None if None in rows else sum(rows)

    def rows(self) -> int:
        """`DeltaTable.count` does not subtract what vectors mark."""
        from deltalake import QueryBuilder

        found = QueryBuilder().register("t", self._table).execute("SELECT count(*) FROM t").read_all()
        return int(found.column(0)[0].as_py())
