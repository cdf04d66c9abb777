"""Rows of CSV. A row with more or fewer values than the others cannot land; a file whose quotes are not what they are in CSV is broken, as its rows and values would be taken for others."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from incremental_assets.adapters.files.csv_quotes import Quotes
from incremental_assets.adapters.files.fitting import fitted_rows, of_texts
from incremental_assets.adapters.files.raw import Fault, Rows
from incremental_assets.adapters.files.refusals import Broken
from incremental_assets.core.config.files_settings import CsvForm

_BLOCK = 8 << 20
"""Bytes that are parsed at once; no row is longer."""
_HEAD = 64 << 10
_BOM = b"\xef\xbb\xbf"
_HALF = re.compile(r"[\udc80-\udcff]")
"""What stands for a byte that is no sign."""
_NOTHING = "Empty CSV file"
"""What Arrow says of a file without a row."""


class _Bytes(io.RawIOBase):
    """Follows quotes on the way, behind what was read of the bytes already."""

    def __init__(self, head: bytes, stream: Any, quotes: Quotes) -> None:
        self._head, self._stream, self.quotes = head, stream, quotes
        self._is_begun = self.is_beyond = False
        """Whether anything came behind the head."""

    @property
    def block(self) -> int:
        """Bytes at once: of a small file no more than it has, as memory is taken for all of them."""
        return min(_BLOCK, len(self._head) + 1)

    def opened(self) -> pa.NativeFile:
        """As Arrow reads it: a small file from memory, in a third of the time."""
        if len(self._head) == _BLOCK:
            return pa.PythonFile(self, mode="r")
        self.quotes.add(self._head.removeprefix(_BOM))
        return pa.BufferReader(self._head)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
        else:
            data = bytes(self._stream.read(size))
            self.is_beyond |= bool(data)
        self.quotes.add(data.removeprefix(_BOM) if not self._is_begun else data)
        self._is_begun = True
        return data


def header(stream: Any, form: CsvForm) -> tuple[tuple[str, ...] | None, bytes]:
    """The names in the first row, None of a file without any; and what was read of it. Raises Broken."""
    head = b""
    while more := stream.read(_HEAD):
        head += more
        first = _first_row(head, form, whole=False)
        if first is not None:
            return first, head
    return _first_row(head, form, whole=True), head


def rows_of_csv(stream: Any, form: CsvForm, types: Mapping[str, str]) -> Iterator[Rows]:
    """The columns of these names and types, in the order of the file's rows. Raises Broken."""
    names, head = header(stream, form)
    if names is None:
        return
    names = _checked_header(names, types) if form.header else _by_place(names, types)
    while len(head) < _BLOCK and (more := stream.read(_BLOCK - len(head))):
        head += more
    quotes = Quotes(form.quote.encode(), form.delimiter.encode())
    passing = _Bytes(head, stream, quotes)
    bad: list[pa_csv.InvalidRow] = []
    before = int(form.header)
    try:
        with _reader(passing, form, names, types, bad) as reader:
            first = 1
            for batch in reader:
                numbers, first = _numbers(first, batch.num_rows, {row.number - before for row in bad})
                yield fitted_rows(batch, numbers, types, of_texts)
    except pa.ArrowInvalid as error:
        # Of a header that no end of a line follows, too.
        if _NOTHING not in str(error) or passing.is_beyond:
            raise Broken(quotes.fault() or str(error).partition("\n")[0]) from None
    if fault := quotes.fault():
        raise Broken(fault)
    if bad:
        faults = {
            place: Fault(None, f"{row.actual_columns} values where {row.expected_columns} are expected")
            for place, row in enumerate(bad)
        }
        yield Rows([row.number - before for row in bad], {}, faults)


def _reader(
    passing: _Bytes, form: CsvForm, names: Sequence[str], types: Mapping[str, str], bad: list[pa_csv.InvalidRow]
) -> pa_csv.CSVStreamingReader:
    """Of bytes as they are written; rows that have more or fewer values are put to the others that are `bad`."""

    def refuse(row: pa_csv.InvalidRow) -> str:
        bad.append(row)
        return "skip"

    # With several threads rows have no numbers.
    reading = pa_csv.ReadOptions(
        use_threads=False, block_size=passing.block, column_names=None if form.header else list(names)
    )
    parsing = pa_csv.ParseOptions(
        delimiter=form.delimiter,
        quote_char=form.quote or False,
        double_quote=bool(form.quote),
        newlines_in_values=bool(form.quote),
        invalid_row_handler=refuse,
    )
    wanted = [name for name in names if name in types]
    converting = pa_csv.ConvertOptions(
        check_utf8=False,
        column_types=dict.fromkeys(wanted, pa.binary()),
        include_columns=wanted,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pa_csv.open_csv(passing.opened(), reading, parsing, converting)


def _first_row(head: bytes, form: CsvForm, *, whole: bool) -> tuple[str, ...] | None:
    text = _text(head.removeprefix(_BOM), whole=whole)
    quoting: Any = {"quotechar": form.quote} if form.quote else {"quoting": csv.QUOTE_NONE}
    lines = io.StringIO(text, newline="")
    for row in csv.reader(lines, delimiter=form.delimiter, **quoting):
        if row:
            return tuple(row) if whole or lines.tell() < len(text) else None
    return None


def _text(head: bytes, *, whole: bool) -> str:
    # A sign may have been cut at the end, and rows behind the first may be anything.
    return codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(head, final=whole)


def _by_place(first: Sequence[str], types: Mapping[str, str]) -> tuple[str, ...]:
    """The names of values whose first row names none."""
    more = len(first) - len(types)
    if more < 0:
        raise Broken(f"its first row has {len(first)} values, and `columns` {len(types)}")
    return (*types, *(f"{place} of no name" for place in range(more)))


def _checked_header(names: tuple[str, ...], types: Mapping[str, str]) -> tuple[str, ...]:
    if any(_HALF.search(name) for name in names):
        raise Broken("its first row is no UTF-8")
    twice = next((name for name in names if names.count(name) > 1 and name in types), None)
    if twice is not None:
        raise Broken(f"its first row names {twice!r} twice")
    if not any(name in types for name in names):
        raise Broken("its first row names none of the columns; write `header: false` where it is a row like others")
    return names


def _numbers(first: int, count: int, bad: set[int]) -> tuple[list[int], int]:
    """Of so many rows from there on, without those that are not among them."""
    if not bad:
        return list(range(first, first + count)), first + count
    found: list[int] = []
    while len(found) < count:
        if first not in bad:
            found.append(first)
        first += 1
    return found, first
