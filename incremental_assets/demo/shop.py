"""The demo's shop as the demo needs it, whichever database it is kept in; found by its name in `places`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

from incremental_assets.demo.day import DayReport, TableDay
from incremental_assets.demo.places import PLACES


class Late(Protocol):
    """A transaction that has stamped its rows and holds them back."""

    def commit(self) -> tuple[TableDay, ...]:
        """They become visible now, with a stamp from before; what there was of them."""


class Shop(Protocol):
    """A database with TPC-H data, and what happens in it. Every method may be called in any state."""

    database: str
    """The database's name, for people."""
    schema: str
    """The schema in which the tables lie."""
    size: int
    """Bytes of TPC-H at scale 1, roughly."""

    def start(self) -> str:
        """It answers, and its reader may log in. Where it is, for people."""

    def stop(self) -> None:
        """Shut the database down; the data stay."""

    def remove(self) -> None:
        """Nothing is left of it."""

    def access(self) -> Mapping[str, str]:
        """What the configuration reads from files of the shop's folder, by their names."""

    def loaded_scale(self) -> Decimal | None:
        """The scale of the data; None where they are not loaded completely."""

    def prepare(self, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
        """Data and the reader's rights. `on_table(name, rows)` after each table; False when all was there already."""

    def late(self, seed: int) -> AbstractContextManager[Late]:
        """A transaction that began before everything else in the block; rolled back if it is not committed."""

    def open(self, seed: int) -> None:
        """The first changes of the day, stamped after those of `late`."""

    def live_a_day(self, seed: int) -> DayReport:
        """Inserts, updates, deletes, one row from the future and one that breaks its contract, in several transactions."""

    def fix(self, day: DayReport) -> None:
        """The row that broke its contract is as it was."""


@runtime_checkable
class Counting(Protocol):
    """A shop whose source nobody can ask how many rows there are: it counts them itself."""

    def counted(self, table: str) -> tuple[int, int]:
        """Rows, and the sum of their hashes: of each the first 60 bits of the MD5 of its values' texts, joined by commas."""


def shop_of(name: str, folder: Path) -> Shop:
    """The shop of that name, running or not."""
    shop: Shop = import_module(f"{__package__}.shop_in_{name}").Shop(folder)
    return shop


def remove_all(folder: Path) -> None:
    """Every shop that was made in a folder, with what it keeps elsewhere."""
    for name, place in PLACES.items():
        if (folder / place).is_dir():
            shop_of(name, folder / place).remove()


if __name__ == "__main__":
    remove_all(Path.cwd())
