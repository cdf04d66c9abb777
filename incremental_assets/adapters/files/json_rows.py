"""Rows of JSON lines: an object in each line, a field that one lacks is NULL. A line that is none cannot land; one without anything is no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incremental_assets.adapters.files.raw import Fault, Rows
from incremental_assets.adapters.files.refusals import Broken
from incremental_assets.adapters.json_values import NoJson, Unfit, decoder, document_of_anybody, shown_json
from incremental_assets.adapters.spark.arrow_types import required_type, typed
from incremental_assets.core.model.coding import Coding

_BLOCK = 8 << 20
_LONGEST = 64 << 20
"""Bytes of a line: one that is longer is no line."""
_ROWS = 16 * 1024
_BOM = b"\xef\xbb\xbf"


def rows_of_json(stream: Any, columns: Sequence[tuple[str, Coding]]) -> Iterator[Rows]:
    """The columns of these names and codings, in the order of the file's lines. Raises Broken."""
    gathered = _Gathered(columns)
    for number, line in enumerate(_lines(stream), 1):
        if line and not line.isspace():
            gathered.add(number, line)
            if len(gathered.numbers) == _ROWS:
                yield gathered.rows()
                gathered = _Gathered(columns)
    yield gathered.rows()


def _lines(stream: Any) -> Iterator[bytes]:
    """Without what ends each, and without a mark of the order of bytes at the begin."""
    rest, begun = b"", False
    while data := stream.read(_BLOCK):
        data = bytes(data)
        if not begun:
            data, begun = data.removeprefix(_BOM), True
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > _LONGEST:
            raise Broken(f"a line of it is longer than {_LONGEST >> 20} MiB")
        yield from lines
    if rest:
        yield rest


class _Gathered:
    """Rows that become columns together."""

    def __init__(self, columns: Sequence[tuple[str, Coding]]) -> None:
        self._columns = [(name, coding, decoder(coding)) for name, coding in columns]
        self.numbers: list[int] = []
        self._values: list[list[Any]] = [[] for _ in columns]
        self._faults: dict[int, Fault] = {}

    def add(self, number: int, line: bytes) -> None:
        """One line that is not blank."""
        self.numbers.append(number)
        row = _object(line)
        if row is None:
            self._faults[len(self.numbers) - 1] = Fault(None, "the line is no JSON object")
        fault: Fault | None = None
        for (name, _, read), values in zip(self._columns, self._values, strict=True):
            value = None if row is None else row.get(name)
            try:
                values.append(None if value is None else read(value))
            except Unfit as unfit:
                values.append(None)
                fault = fault or Fault(name, str(unfit), {each: _text(found) for each, found in (row or {}).items()})
        if fault is not None:
            self._faults[len(self.numbers) - 1] = fault

    def rows(self) -> Rows:
        """Those that were added."""
        columns = {
            name: typed(values, required_type(coding.type))
            for (name, coding, _), values in zip(self._columns, self._values, strict=True)
        }
        return Rows(self.numbers, columns, self._faults)


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = document_of_anybody(line)
    except NoJson:
        return None
    return found if isinstance(found, dict) else None


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else shown_json(value)
