"""A folder of files, a lake, and the whole product between them: the scenarios of files are played on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from tests.adapters.files.place import Place
from tests.fakes import Process

ORDERS = """\
    files:
      shop.orders: {{path: "**/*.csv", format: csv, columns: {{id: bigint, status: string, at: bigint}}, settle: {settle}{more}}}
    tables:
      - {{table: shop.orders{table}}}
"""
BY_ORDER = ", key: [id], order: at"
EACH_ROW = ", strategy: append"


def content(*rows: tuple[Any, ...]) -> str:
    """Of a file of these rows."""
    lines = "".join(",".join("" if each is None else str(each) for each in row) + "\n" for row in rows)
    return f"id,status,at\n{lines}"


@dataclass
class FileStand:
    """`orders` is made of CSV: each row of each file, unless configured otherwise."""

    place: Place

    @classmethod
    def open(cls, place: Place) -> FileStand:
        """With a folder that is empty."""
        found = cls(place)
        found.configure()
        return found

    def configure(self, more: str = "", table: str = "", settle: str = "0s") -> None:
        """`more`: keys of the files; `table`: of the table's entry."""
        self.place.configure(ORDERS.format(more=more, table=table, settle=settle))

    def put(self, name: str, *rows: tuple[Any, ...]) -> None:
        """A file of these rows, whole."""
        self.place.put(name, content(*rows))

    def land(self, **options: Any) -> SyncReport:
        """Until there is nothing more; the last one that landed."""
        report = self.place.sync(**options)
        while (following := self.place.sync()).status is not Status.IDLE:
            report = following
        return report

    def refused(self, process: Process | None = None, mode: Mode = Mode.SYNC) -> str:
        """What a sync says that cannot."""
        try:
            report = self.place.sync(process=process, mode=mode)
        except IncrementalAssetsError as error:
            return str(error)
        raise AssertionError(report)

    def places(self) -> list[tuple[str, int]]:
        """File and number of each row of the copy."""
        return [(row["_file"], row["_file_row"]) for row in self.place.rows()]

    def copy(self) -> dict[int, str]:
        """Status by key; no key is there twice."""
        rows = self.place.rows()
        assert len({row["id"] for row in rows}) == len(rows)
        return {row["id"]: row["status"] for row in rows}

    def assert_tidy(self) -> None:
        """Nothing is left of what died."""
        with self.place.runtime() as runtime:
            assert runtime.checkpoints.position(self.place.spec().id).open is None
        staged = self.place.folder / "lake" / "_staging"
        assert [path for path in staged.rglob("*") if path.is_file()] == []
