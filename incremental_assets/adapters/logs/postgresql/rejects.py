"""Rows that no copy can hold: which value of each, why, and the whole row as texts, as a snapshot tells them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incremental_assets.adapters.databases.postgresql.types import unholdable
from incremental_assets.adapters.logs.postgresql.binary_values import Bools
from incremental_assets.adapters.logs.postgresql.relation import Kind, Layout
from incremental_assets.adapters.logs.postgresql.spool import Octets
from incremental_assets.adapters.logs.postgresql.text_values import text_values
from incremental_assets.adapters.logs.postgresql.tuples import BINARY, Places
from incremental_assets.adapters.logs.postgresql.unconverted import shown
from incremental_assets.adapters.logs.postgresql.values import NotBinary
from incremental_assets.core.model.column import Column

Texts = npt.NDArray[np.object_]
_WHOLE = {"t": "true", "f": "false"}
"""How a snapshot writes what the log writes shorter."""


@dataclass(frozen=True, slots=True)
class Rejects:
    """For each row the first column whose value cannot be held, the reason, and the row; None in others."""

    found: Bools
    names: Texts
    reasons: Texts
    quoted: Texts

    @classmethod
    def none(cls, rows: int) -> Rejects:
        """Of no row yet."""
        return cls(np.zeros(rows, bool), *(np.full(rows, None, object) for _ in range(3)))

    def add(self, column: Column, bad: Bools) -> None:
        """Values that cannot be held, of the next column."""
        why = unholdable(column)
        first = bad & ~self.found
        self.found[first] = True
        self.names[first], self.reasons[first] = column.name, "" if why is None else why.reason

    def quote(self, data: Octets, places: Sequence[Places], layout: Layout) -> None:
        """The rows as texts. Raises NotBinary: only the server knows how it prints what came in a binary format."""
        rows = np.flatnonzero(self.found)
        if not len(rows):
            return
        columns = [_texts(data, each.take(rows), kind) for each, kind in zip(places, layout.kinds, strict=True)]
        for row, texts in zip(rows, zip(*columns, strict=True), strict=True):
            pairs = (f"{_text(name)} : {_text(text)}" for name, text in zip(layout.names, texts, strict=True))
            self.quoted[row] = "{" + ", ".join(pairs) + "}"

    def columns(self) -> list[pa.Array]:
        """As columns of ours, in their order."""
        return [pa.array(each, pa.string()) for each in (self.names, self.reasons, self.quoted)]


def _texts(data: Octets, places: Places, kind: Kind) -> list[str | None]:
    if (places.kinds == BINARY).any():
        raise NotBinary
    sent = places.sent
    values, _ = text_values(data, places.take(np.flatnonzero(sent)), kind.source_type, "string")
    found = iter(shown(values, kind.encoding))
    texts = [next(found) if is_sent else None for is_sent in sent]
    return [_WHOLE.get(text or "", text) for text in texts] if kind.spark_type == "boolean" else texts


def _text(value: str | None) -> str:
    return json.dumps(value, ensure_ascii=False)
