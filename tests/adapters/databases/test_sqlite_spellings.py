"""What becomes of rows whose keys are one moment in several spellings? They are several to SQLite, which compares texts, and would be one in a copy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.databases.sqlite.spellings import AN_OFFSET, SAME_MOMENT, Forms, Spellings, spellings
from incremental_assets.adapters.databases.sqlite.types import converter
from incremental_assets.core.model.column import Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.strategies import Strategy
from tests.adapters.batches import Desk
from tests.adapters.databases.contract import of_window, planned, spec_of
from tests.adapters.databases.places_contract import found
from tests.adapters.databases.sqlite_file import File

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEN = datetime.fromisoformat("2024-01-01T10:00:00")
ELEVEN = datetime.fromisoformat("2024-01-01T11:00:00")
READINGS = "CREATE TABLE readings (at DATETIME PRIMARY KEY NOT NULL, value REAL, n INTEGER NOT NULL)"


NUMBERED = Cursor("n", CursorType.INTEGER)


@pytest.fixture
def world(tmp_path: Path) -> File:
    return File(tmp_path / "shop.db", "wal")


def moment(number: int) -> datetime:
    """Another one for each number, spelled by `str` as the others."""
    return TEN + timedelta(minutes=number)


def window(lower: int | None, upper: int | None) -> Window:
    return Window(*(None if end is None else CursorValue(CursorType.INTEGER, str(end)) for end in (lower, upper)))


@dataclass(frozen=True)
class Read:
    """What a read gives: how many rows, how many of them are rejected, their highest cursor, those that land, and the others with column and reason."""

    rows: int
    rejected: int
    highest: str | None
    lands: list[tuple[Any, ...]]
    held: list[tuple[Any, ...]]

    @classmethod
    def of(cls, world: File, name: str, lower: int | None = None, upper: int | None = None) -> Read:
        """A window of a table."""
        spec, probe = spec_of(world, name, NUMBERED), SqlProbe(world.address, "shop")
        with probe.snapshot(of_window(planned(probe, spec), window(lower, upper))) as seen:
            read = [tuple(row.values()) for row in pq.read_table(seen.handle).to_pylist()]
            highest = seen.highest.text if seen.highest else None
        probe.close()
        width = len(spec.columns)
        lands = [row[:width] for row in read if row[width] is None]
        held = [row[: width + 2] for row in read if row[width] is not None]
        return cls(seen.rows, seen.rejected, highest, sorted(lands, key=str), sorted(held, key=str))


@dataclass
class Copy:
    """A copy of one table of a file, which lands as a sync lands it."""

    world: File
    desk: Desk
    spec: TableSpec = field(init=False)

    def __post_init__(self) -> None:
        self.spec = spec_of(self.world, "readings", NUMBERED)

    def sync(self, lower: int | None = None, **changes: Any) -> tuple[int, int, str | None]:
        """Reads from a cursor on; how many rows were read and rejected, and the highest cursor among them."""
        probe = SqlProbe(self.world.address, "shop")
        plan = replace(of_window(self.desk.plan(self.spec), window(lower, None)), **changes)
        with SparkSource(probe, self.world.address, lambda: self.desk.spark).snapshot(plan) as seen:
            batch = self.desk.stage.write(plan, seen)
            self.desk.apply(plan, batch, seen)  # type: ignore[arg-type]
            told = (seen.rows, seen.rejected, seen.highest.text if seen.highest else None)
        probe.close()
        return told

    @property
    def rows(self) -> list[Any]:
        return self.desk.rows(self.spec)

    @property
    def held(self) -> list[tuple[str, str, str]]:
        """Key, column and reason of each row in quarantine."""
        rows = self.desk.quarantined(self.spec)
        return sorted((row["at"], row["_sync_column"], row["_sync_reason"]) for row in rows)


@pytest.fixture
def copy(world: File, tmp_path: Path, spark: SparkSession) -> Copy:
    world.execute(READINGS)
    return Copy(world, Desk(tmp_path / "lake", spark))


def test_the_spellings_of_a_moment_are_all_that_its_type_takes() -> None:
    fractions = spellings(datetime.fromisoformat("2024-01-01T10:00:30.25"))
    assert fractions[10:] == tuple(f"{text}Z" for text in fractions[:10])
    assert fractions[:10] == (
        "2024-01-01 10:00:30.250000",
        "2024-01-01 10:00:30.25000",
        "2024-01-01 10:00:30.2500",
        "2024-01-01 10:00:30.250",
        "2024-01-01 10:00:30.25",
        "2024-01-01T10:00:30.250000",
        "2024-01-01T10:00:30.25000",
        "2024-01-01T10:00:30.2500",
        "2024-01-01T10:00:30.250",
        "2024-01-01T10:00:30.25",
    )
    assert spellings(datetime.fromisoformat("0999-12-31T20:10:00"))[:8] == (
        "0999-12-31 20:10:00.000000",
        "0999-12-31 20:10:00.00000",
        "0999-12-31 20:10:00.0000",
        "0999-12-31 20:10:00.000",
        "0999-12-31 20:10:00.00",
        "0999-12-31 20:10:00.0",
        "0999-12-31 20:10:00",
        "0999-12-31 20:10",
    )
    assert spellings(datetime.fromisoformat("2024-01-01T10:00:30"))[6:7] == ("2024-01-01 10:00:30",)
    assert len(spellings(datetime.fromisoformat("2024-01-01T10:00:30"))) == 28
    read = converter("timestamp_ntz", Fidelity.EXACT)
    assert {read(text) for text in spellings(TEN)} == {TEN}
    for other in (
        "2024-01-01 10",
        "2024-01-01 10:00:00.0000000",
        "2024-01-01t10:00",
        "2024-01-01  10:00",
        "2024-01-01 10:00z",
        "2024-01-01 10:00 Z",
        "2024-01-01 10:00+0200",
        " 2024-01-01",
    ):
        with pytest.raises(Unfit):
            read(other)


@pytest.mark.parametrize("form", ["{}T{}:00", "{} {}", "{} {}:00", "{} {}:00.000000", "{}T{}:00.000", "{}T{}:00Z"])
def test_a_table_that_spells_its_moments_in_one_way_lands_whatever_the_way(world: File, form: str) -> None:
    first, second = form.format("2024-01-01", "10:00"), form.format("2024-01-01", "11:00")
    world.execute(READINGS, f"INSERT INTO readings VALUES ('{first}', 1.5, 1), ('{second}', 2.5, 2)")
    assert Read.of(world, "readings") == Read(2, 0, "2", [(TEN, 1.5, 1), (ELEVEN, 2.5, 2)], [])


def test_of_a_moment_that_says_utc_and_one_that_says_nothing_one_lands(world: File) -> None:
    world.execute(
        READINGS,
        "INSERT INTO readings VALUES ('2024-01-01T10:00:00Z', 1.5, 1), ('2024-01-01T10:00:00', 2.5, 2), ('2024-01-01T11:00:00Z', 3.5, 3)",
    )
    read = Read.of(world, "readings")
    assert read.lands == [(TEN, 2.5, 2), (ELEVEN, 3.5, 3)]
    assert read.held == [(None, 1.5, 1, "at", SAME_MOMENT)]


def test_a_key_with_an_offset_never_lands_whatever_else_is_there(world: File) -> None:
    world.execute(
        READINGS,
        "INSERT INTO readings VALUES ('2024-01-01T12:00:00+02:00', 1.5, 1), ('2024-01-01T10:00:00', 2.5, 2), ('2024-01-01T12:00:00+01:00', 3.5, 3)",
    )
    read = Read.of(world, "readings")
    assert read.lands == [(TEN, 2.5, 2)]
    assert read.held == [(None, 1.5, 1, "at", AN_OFFSET), (None, 3.5, 3, "at", AN_OFFSET)]
    probe = SqlProbe(world.address, "shop")
    with probe.keys(spec_of(world, "readings", NUMBERED)) as keys:
        assert len(keys.texts(KeyParts(0, 2**63 - 1))) == 1
    probe.close()


def test_a_small_delta_of_a_large_table_looks_its_own_rows_up_and_reads_few_keys_beside(world: File) -> None:
    """The lake's work follows the delta; here as many keys are read as one look-up takes the time of."""
    world.execute(READINGS, *(f"INSERT INTO readings VALUES ('{moment(n)}', 1.5, {n})" for n in range(Forms.KEYS * 3)))
    with closing(sqlite3.connect(world.path)) as connection:
        told: list[str] = []
        spelt = Spellings.of(connection, spec_of(world, "readings", NUMBERED))
        assert spelt is not None
        connection.set_trace_callback(told.append)
        for n in range(10):
            assert spelt.rank((moment(n), 1.5, n), (str(moment(n)), 1.5, n)) is None
        looked_up = [statement for statement in told if "WHERE" in statement]
    assert len(looked_up) == 3
    assert len(told) == 4


def test_a_last_key_in_another_form_is_no_less_told(world: File) -> None:
    many = [f"INSERT INTO readings VALUES ('{moment(n)}', 1.5, {n})" for n in range(Forms.KEYS * 3)]
    world.execute(READINGS, *many, f"INSERT INTO readings VALUES ('{moment(0).isoformat()}', 2.5, 100)")
    read = Read.of(world, "readings")
    assert (read.rows, read.rejected, read.held) == (61, 1, [(None, 2.5, 100, "at", SAME_MOMENT)])


def test_of_two_spellings_that_are_read_together_the_first_text_lands_and_the_other_is_held_once(world: File) -> None:
    world.execute(
        READINGS,
        "INSERT INTO readings VALUES ('2024-01-01T10:00', 1.5, 1), ('2024-01-01 10:00:00', 2.5, 2), "
        "('2024-01-01 10:00:00.0', 3.5, 3), ('2024-01-01T11:00', 4.5, 4)",
    )
    held = [(None, 1.5, 1, "at", SAME_MOMENT), (None, 3.5, 3, "at", SAME_MOMENT)]
    assert Read.of(world, "readings") == Read(4, 2, "4", [(TEN, 2.5, 2), (ELEVEN, 4.5, 4)], held)
    (measured,) = SqlProbe(world.address, "shop").measure(spec_of(world, "readings", NUMBERED), [Window(None, None)])
    assert measured.rows == 2


def test_a_row_above_the_window_says_nothing_of_how_far_it_was_read(world: File) -> None:
    world.execute(READINGS, "INSERT INTO readings VALUES ('2024-01-01 10:00', 1.5, 1), ('2024-01-01T10:00', 2.5, 9)")
    held = [(None, 2.5, 9, "at", SAME_MOMENT)]
    assert Read.of(world, "readings", None, 5) == Read(2, 1, "1", [(TEN, 1.5, 1)], held)
    assert Read.of(world, "readings", 5) == Read(1, 1, "9", [], held)


@pytest.mark.acceptance
def test_a_row_that_comes_later_and_keeps_one_out_that_has_landed_brings_it_to_quarantine(copy: Copy) -> None:
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01T10:00', 1.5, 1), ('2024-01-01T11:00', 4.5, 2)")
    copy.sync()
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01 10:00', 2.5, 3)")
    assert copy.sync(3) == (2, 1, "3")
    assert copy.rows == [(TEN, 2.5, 3), (ELEVEN, 4.5, 2)]
    assert copy.held == [("2024-01-01T10:00", "at", SAME_MOMENT)]
    assert found(copy.world, copy.desk.lake, copy.spec).places.numbers == frozenset()


@pytest.mark.acceptance
@pytest.mark.parametrize(("value", "column"), [("2.5", "at"), ("'much'", "value")])
def test_a_row_that_is_kept_out_takes_the_one_that_has_landed_out_of_no_copy(
    copy: Copy, value: str, column: str
) -> None:
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01 10:00', 1.5, 1)")
    copy.sync()
    copy.world.execute(f"INSERT INTO readings VALUES ('2024-01-01T10:00', {value}, 2)")
    assert copy.sync(2) == (1, 1, "2")
    assert copy.rows == [(TEN, 1.5, 1)]
    assert [(at, where) for at, where, _ in copy.held] == [("2024-01-01T10:00", column)]


@pytest.mark.acceptance
def test_a_row_that_keeps_another_out_and_cannot_land_itself_leaves_both_in_quarantine(copy: Copy) -> None:
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01T10:00', 1.5, 1)")
    copy.sync()
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01 10:00', 'much', 2)")
    assert copy.sync(2) == (2, 2, "2")
    assert copy.rows == []
    assert [(at, where) for at, where, _ in copy.held] == [("2024-01-01 10:00", "value"), ("2024-01-01T10:00", "at")]


@pytest.mark.acceptance
def test_a_row_that_was_kept_out_is_missing_once_nothing_keeps_it_out_and_is_read_by_a_repair(copy: Copy) -> None:
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01T10:00', 1.5, 1), ('2024-01-01 10:00', 2.5, 2)")
    copy.sync()
    copy.world.execute("DELETE FROM readings WHERE n = 2")
    differs = found(copy.world, copy.desk.lake, copy.spec)
    assert (differs.missing, differs.extra) == (1, 1)
    request = replace(copy.desk.plan(copy.spec).request, mode=Mode.REPAIR, places=differs.places)
    assert copy.sync(request=request) == (1, 0, "1")
    assert copy.rows == [(TEN, 1.5, 1)]


@pytest.mark.acceptance
def test_a_repair_tells_of_the_row_that_it_takes_the_place_of(copy: Copy) -> None:
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01T10:00', 1.5, 1)")
    copy.sync()
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01 10:00', 2.5, 0)")
    differs = found(copy.world, copy.desk.lake, copy.spec)
    request = replace(copy.desk.plan(copy.spec).request, mode=Mode.REPAIR, places=differs.places)
    assert copy.sync(request=request) == (2, 1, "0")
    assert copy.rows == [(TEN, 2.5, 0)]
    assert copy.held == [("2024-01-01T10:00", "at", SAME_MOMENT)]


def test_keys_of_several_columns_meet_only_where_all_of_them_do(world: File) -> None:
    """The column takes `a` for `A`, and the index of the key does not."""
    world.execute(
        "CREATE TABLE spans (code TEXT COLLATE NOCASE NOT NULL, at DATETIME NOT NULL, until TIMESTAMP NOT NULL, n INTEGER NOT NULL, "
        "PRIMARY KEY (code COLLATE BINARY, at, until)) WITHOUT ROWID",
        "INSERT INTO spans VALUES ('a', '2024-01-01 10:00', '2024-01-01 11:00', 1), ('A', '2024-01-01T10:00', '2024-01-01 11:00', 2), "
        "('a', '2024-01-01T10:00', '2024-01-01 11:00:01', 3), ('b', '2024-01-01 10:00', '2024-01-01T11:00', 4), "
        "('b', '2024-01-01T10:00', '2024-01-01 11:00', 5), ('b', '2024-01-01 10:00', '2024-01-01 11:00:00', 6)",
    )
    read = Read.of(world, "spans")
    assert sorted(row[3] for row in read.lands) == [1, 2, 3, 6]
    assert [(row[3], row[4]) for row in read.held] == [(4, "until"), (5, "at")]


@pytest.mark.parametrize(
    ("strategy", "enforced"), [(Strategy.FULL_REFRESH, True), (Strategy.UPSERT, False), (Strategy.APPEND, False)]
)
def test_where_no_key_tells_rows_apart_none_is_kept_out(world: File, strategy: Strategy, *, enforced: bool) -> None:
    """Of a key that is only declared, rows that share one are counted and warned of."""
    world.execute(READINGS, "INSERT INTO readings VALUES ('2024-01-01T10:00', 1.5, 1), ('2024-01-01 10:00', 2.5, 2)")
    spec = spec_of(world, "readings", NUMBERED, strategy=strategy, key_enforced=enforced)
    probe = SqlProbe(world.address, "shop")
    with probe.snapshot(planned(probe, spec)) as seen:
        assert (seen.rows, seen.rejected) == (2, 0)
    probe.close()


@pytest.mark.acceptance
def test_an_append_holds_the_spelling_that_could_pass_for_a_version_it_has(copy: Copy) -> None:
    copy.spec = replace(copy.spec, strategy=Strategy.APPEND)
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01T10:00', 1.5, 1)")
    copy.sync()
    copy.world.execute("INSERT INTO readings VALUES ('2024-01-01T10:00:00', 1.5, 1)")
    assert copy.sync() == (2, 1, "1")
    assert copy.rows == [(TEN, 1.5, 1)]
    assert copy.held == [("2024-01-01T10:00:00", "at", SAME_MOMENT)]
