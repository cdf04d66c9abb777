"""The shop that others know by the files which it drops into a folder. Its books are the SQLite file: files are written from them, and by them the copies are proven."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

from incremental_assets.demo import plain_sql, shop_in_sqlite
from incremental_assets.demo.day import FUTURE, DayReport, TableDay
from incremental_assets.demo.dropping import UNFINISHED, Rows, prepared
from incremental_assets.demo.places import INCOMING
from incremental_assets.demo.shop_in_sqlite import Connection

_ORDERED = ("orders", "lineitem")
"""The first column of their keys is the order."""
_PARTS, _FEWER = 32, 4
"""Files of the first load of these tables, of which one that is replaced is little to read; and of the others."""
_FIRST = "000"
_SINCE = "updated_at >= ?"
_CANCELLED = "{{o_orderkey}} BETWEEN 100 AND 149 AND o_orderkey < {part} AND updated_at <= '{newest}'"
"""Those of the first file that no other file has."""
_LATE_SECONDS = 3600.0
"""By which files that come late look older than they are."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What is remembered of the first files. `newest`: the latest stamp in those of orders; `part`: how far the keys of one of them reach."""

    scale: str
    newest: str
    part: int


class _Late:
    """Implements `demo.shop.Late`: files that were written first, and come last. Until then the books know nothing of them."""

    def __init__(self, connection: Connection, incoming: Path, seed: int) -> None:
        self._connection = connection
        since = connection.now()
        connection.run("BEGIN IMMEDIATE")
        self._tables = plain_sql.write_late(connection, seed)
        self._rows = {name: connection.rows(f"SELECT * FROM {name} WHERE {_SINCE}", (since,)) for name in _ORDERED}  # noqa: S608 - our own names
        self._files = [
            prepared(connection.driver, Rows(name, _SINCE, (since,)), incoming, _name(since)) for name in _ORDERED
        ]
        connection.run("ROLLBACK")

    def commit(self) -> tuple[TableDay, ...]:
        self._connection.run("BEGIN IMMEDIATE")
        for name, rows in self._rows.items():
            if rows:
                holes = ", ".join("?" * len(rows[0]))
                self._connection.run_many(f"INSERT OR REPLACE INTO {name} VALUES ({holes})", rows)  # noqa: S608 - our own names
        self._connection.run("COMMIT")
        for each in self._files:
            each.age(_LATE_SECONDS)
            each.bring()
        return self._tables


class Shop(shop_in_sqlite.Shop):
    """Implements `demo.shop.Shop` and `demo.shop.Counting`."""

    database = "a shop that drops files"
    schema = "shop"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._incoming, self._unfinished = folder / INCOMING, folder / UNFINISHED
        self._file_of_load = folder / "loaded.json"

    def start(self) -> str:
        """The folder in which files are dropped."""
        super().start()
        self._incoming.mkdir(mode=0o700, exist_ok=True)
        return str(self._incoming)

    def remove(self) -> None:
        """The files, and the books."""
        super().remove()
        self._file_of_load.unlink(missing_ok=True)
        for folder in (self._incoming, self._unfinished):
            shutil.rmtree(folder, ignore_errors=True)

    def loaded_scale(self) -> Decimal | None:
        """The scale that is remembered when the last of the first files has come."""
        found = self._loaded()
        return Decimal(found.scale) if found else None

    def prepare(self, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
        """The books, and each table's first files."""
        if self.loaded_scale() == scale:
            return False
        super().prepare(scale, on_table)
        with Connection(self._file) as connection:
            ((newest, highest),) = connection.rows("SELECT max(updated_at), max(o_orderkey) FROM orders")
            for name in plain_sql.KEYS:
                self._drop_first(connection, name)
        loaded = _Loaded(str(scale), newest, _part(highest, _PARTS))
        self._file_of_load.write_text(json.dumps(asdict(loaded)), encoding="utf-8")
        return True

    @contextmanager
    def late(self, seed: int) -> Iterator[_Late]:  # type: ignore[override]
        """Files that are held back, and never come if nobody lets them."""
        with Connection(self._file) as connection:
            yield _Late(connection, self._incoming, seed)

    def open(self, seed: int) -> None:
        """The first changes of the day, in a file for each table."""
        with self._dropping(_ORDERED):
            super().open(seed)

    def live_a_day(self, seed: int) -> DayReport:
        """The others; of cancelled orders no file says that they are gone, but that from which they came is replaced by one without them."""
        loaded = self._loaded()
        if loaded is None:
            raise LookupError("the shop's first files are not there")
        cancelled = _CANCELLED.format(part=loaded.part, newest=loaded.newest)
        with self._dropping(plain_sql.STAMPED), Connection(self._file) as connection:
            day = plain_sql.live_a_day(connection, seed, FUTURE, cancelled)
            for name in _ORDERED:
                rows = Rows(name, f"{_key(name)} < ?", (loaded.part,))
                prepared(connection.driver, rows, self._incoming, _FIRST).bring()
        return day

    def fix(self, day: DayReport) -> None:
        """The part's size, in a file of its own."""
        with self._dropping(["part"]):
            super().fix(day)

    def counted(self, table: str) -> tuple[int, int]:
        """As the books have them."""
        with Connection(self._file) as connection:
            return Rows(table).measured(connection.driver)

    def _drop_first(self, connection: Connection, name: str) -> None:
        key = _key(name)
        ((highest,),) = connection.rows(f"SELECT max({key}) FROM {name}")  # noqa: S608 - our own names
        parts = 1 if name not in plain_sql.STAMPED else _PARTS if name in _ORDERED else _FEWER
        part = _part(highest, parts)
        for number in range(parts):
            rows = Rows(name, f"{key} >= ? AND {key} < ?", (number * part, (number + 1) * part))
            prepared(connection.driver, rows, self._incoming, f"{number:03}").bring()

    @contextmanager
    def _dropping(self, tables: Iterable[str]) -> Iterator[None]:
        """What changes in these tables meanwhile, in a file for each."""
        with Connection(self._file) as connection:
            since = connection.now()
        yield
        with Connection(self._file) as connection:
            for name in tables:
                prepared(connection.driver, Rows(name, _SINCE, (since,)), self._incoming, _name(since)).bring()

    def _loaded(self) -> _Loaded | None:
        if not self._file_of_load.is_file():
            return None
        return _Loaded(**json.loads(self._file_of_load.read_text(encoding="utf-8")))


def _key(table: str) -> str:
    return plain_sql.KEYS[table].partition(",")[0]


def _part(highest: int, parts: int) -> int:
    return highest // parts + 1


def _name(moment: str) -> str:
    """Of a file, by the moment of its first row, in which no file system minds a sign."""
    return moment.replace(":", "")
