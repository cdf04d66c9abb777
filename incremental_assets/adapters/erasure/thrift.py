"""Thrift's compact protocol, as far as Parquet uses it: structs as maps by the number of a field."""

from __future__ import annotations

import struct
from typing import Any

Fields = dict[int, Any]

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)


class Reader:
    """Reads from a place on; `at` is where it has come to. Raises ValueError and IndexError for what is none."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def fields(self) -> Fields:
        """One struct."""
        found: Fields = {}
        number = 0
        while (head := self._byte()) != 0:
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._signed()
        if kind == _BINARY:
            return self._take(self._unsigned())
        if kind == _STRUCT:
            return self.fields()
        if kind in (_LIST, _SET):
            return self._list()
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        raise ValueError(f"Parquet has no field of type {kind}")

    def _list(self) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        return [self._value(kind) for _ in range(self._unsigned() if size == 15 else size)]

    def _take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) < count:
            raise ValueError("cut")
        self.at += count
        return found

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
