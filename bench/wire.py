"""What a source sends so that two sides can be compared: sums, hashes and keys, counted line by line on their way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import ByteHashed, PlacedRows, Ports, Seek, SourceKeys, Windowed


@dataclass
class Wire:
    """Lines so far."""

    lines: int = field(default=0)

    def on(self, ports: Ports) -> Ports:
        """The same ports, whose source is counted."""
        return replace(ports, probe=_Probe(ports.probe, self), source=_Source(ports.source, self))


@dataclass(frozen=True)
class _Through:
    inner: Any
    wire: Wire

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@dataclass(frozen=True)
class _Probe(_Through):
    @property
    def rows(self) -> _Probe:
        return self

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[PlacedRows | None]:
        with self.inner.placed_rows(spec, windows) as rows:
            yield rows and _Rows(rows, self.wire)


@dataclass(frozen=True)
class _Source(_Through):
    @property
    def differing(self) -> _Source:
        return self

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Any]:
        with self.inner.snapshot(plan) as snapshot:
            yield _Snapshot(snapshot, self.wire)

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[Any]:
        with self.inner.differing.compared(plan, lambda rows: seek(_Rows(rows, self.wire))) as snapshot:
            yield snapshot


@dataclass(frozen=True)
class _Snapshot(_Through):
    @property
    def keys(self) -> Any:
        return self.inner.keys and _Keys(self.inner.keys, self.wire)


@dataclass(frozen=True)
class _Counted(_Through):
    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        found: Mapping[int, KeySum] = self.inner.sums(within, shift)
        self.wire.lines += len(found)
        return found


@dataclass(frozen=True)
class _Rows(_Counted):
    def spread(self) -> KeySpread:
        found: KeySpread = self.inner.spread()
        return found

    def hashes(self, within: KeyParts) -> Sequence[tuple[int, int]]:
        found: Sequence[tuple[int, int]] = self.inner.hashes(within)
        self.wire.lines += len(found)
        return found

    def windowed(self, within: KeyParts) -> Sequence[tuple[int, int, int]] | None:
        found = self.inner.windowed(within) if isinstance(self.inner, Windowed) else None
        self.wire.lines += len(found or ())
        return found

    def by_bytes(self) -> PlacedRows | None:
        found = self.inner.by_bytes() if isinstance(self.inner, ByteHashed) else None
        return found and _Rows(found, self.wire)


@dataclass(frozen=True)
class _Keys(_Counted):
    def texts(self, within: KeyParts) -> frozenset[str]:
        found: frozenset[str] = self.inner.texts(within)
        self.wire.lines += len(found)
        return found

    def present(self, texts: AbstractSet[str]) -> frozenset[str]:
        found: frozenset[str] = self.inner.present(texts)
        self.wire.lines += len(found)
        return found

    def by_bytes(self) -> SourceKeys | None:
        found = self.inner.by_bytes()
        return found and _Keys(found, self.wire)
