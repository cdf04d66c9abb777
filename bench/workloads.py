"""The workloads, in their two sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from bench.engines import Engine, Kept
from bench.environments import Environments
from bench.names import DLT, DLT_PYARROW, SPARK_DELTA, SPARK_PARQUET
from bench.others import CopyNowhere, CopyParquet, Dlt, Sling, SparkJdbc, SparkMerge, spark_session
from bench.ours import Ours, check, session
from bench.playing import touch
from bench.source import TPCH, Source, Table, generated, quoted
from bench.workload import Change, Series, Workload

SMALL_JVM = "-Xmx2g"


@dataclass(frozen=True)
class Many:
    """So many tables of so many rows, of which so many change."""

    tables: int
    rows: int
    changes: int


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    scale: Decimal
    rounds: int
    changes: int
    big: int
    some: Many
    many: Many
    growth: tuple[int, int, int]
    ticks: int
    big_table: int
    """Rows of the table of which some drift, or change unseen."""
    large: int
    """Rows of the table of which 12 of each hundred change."""
    fresh: int
    """Rows that are waited for, one after the other."""
    backlog: int
    """Changes that wait in the source's log, or in a topic."""
    blocked: int
    """Megabytes of log beside a transaction that stays open."""
    stream: int
    """Seconds for which changes come."""
    observed: int
    """Rows of the table whose ticks are observed."""
    files: int
    """That land for the first time."""
    names: int
    """Files at which is looked."""
    stored: int
    """Rows of each table whose copy is in a store."""


FULL = Sizes(
    scale=Decimal(1),
    rounds=3,
    changes=10_000,
    big=1_000_000,
    some=Many(8, 200_000, 1_000),
    many=Many(50, 10_000, 100),
    growth=(1_500_000, 6_000_000, 24_000_000),
    ticks=50,
    big_table=10_000_000,
    large=200_000_000,
    fresh=50,
    backlog=1_000_000,
    blocked=5_000,
    stream=600,
    observed=1_000_000,
    files=10_000,
    names=1_000_000,
    stored=10_000,
)
QUICK = Sizes(
    scale=Decimal("0.1"),
    rounds=1,
    changes=1_000,
    big=100_000,
    some=Many(4, 50_000, 500),
    many=Many(10, 5_000, 50),
    growth=(150_000, 600_000, 2_400_000),
    ticks=8,
    big_table=200_000,
    large=1_000_000,
    fresh=5,
    backlog=100_000,
    blocked=600,
    stream=20,
    observed=100_000,
    files=500,
    names=40_000,
    stored=5_000,
)


class Workloads:
    """Made when they are played: contenders have state."""

    def __init__(self, sizes: Sizes, environments: Environments, folder: Path) -> None:
        self._sizes, self._environments = sizes, environments
        self._folder = folder
        self._engine, self._session = Engine(folder / "engine"), session()
        # As for whoever uses them: started once, and as warm as an hour of ticks makes them.
        self._engine.shared = self._session.shared = True

    def close(self) -> None:
        """End what stayed from workload to workload."""
        self._engine.close()
        self._session.close()

    def all(self) -> dict[str, Callable[[], Workload]]:
        """By name, in the order in which they are played."""
        small, middle, large = self._sizes.growth
        return {
            "F1": self.first_load,
            "F1-orders": self.first_load_of_less,
            "F2": self.first_load_warm,
            "F3": self.all_tables,
            "I1": self.tick,
            "I3": lambda: self.ticks("I3", self._sizes.some),
            "I4": lambda: self.ticks("I4", self._sizes.many),
            "I6": self.big_delta,
            "K": self.kept,
            "G-small": lambda: self.growth("small", small),
            "G-middle": lambda: self.growth("middle", middle),
            "G-large": lambda: self.growth("large", large),
        }

    def first_load(self) -> Workload:
        """F1, what its checks take (R), and what memory it needs (M)."""
        made = self._environments
        both = Ours(), Dlt(DLT, "connectorx", made)
        others = (
            SparkJdbc(SPARK_PARQUET, made, "spark_jdbc.py", "parquet"), SparkJdbc(SPARK_DELTA, made, "spark_jdbc.py"),
            CopyNowhere(made), CopyParquet(made),
        )  # fmt: skip
        in_little = (Ours(java=SMALL_JVM, room="in-little-memory"),)
        return Workload(
            "F1",
            (TPCH["lineitem"],),
            (
                Series("F1", "first load of `lineitem`, whole process", both, others, verified_last=True),
                Series("R", "reconciliation, duplicates and schema of `lineitem`, both sides", (check(),), again=True),
                Series("M load", "first load of `lineitem` in a JVM of 2 GB", in_little, rounds=1),
            ),
        )

    def first_load_of_less(self) -> Workload:
        """F1 of a quarter of the rows, for those who would need minutes for all of them."""
        everybody = Ours(), Dlt(DLT_PYARROW, "pyarrow", self._environments), Sling(self._environments)
        series = Series("F1 orders", "first load of `orders`, whole process", (), everybody, verified_last=True)
        return Workload("F1-orders", (TPCH["orders"],), (series,))

    def first_load_warm(self) -> Workload:
        """F2."""
        both = (self._session, spark_session(self._environments))
        title = "first load of `lineitem` in a session that is warm"
        return Workload("F2", (TPCH["lineitem"],), (Series("F2", title, both, untimed=1, verified_last=True),))

    def all_tables(self) -> Workload:
        """F3."""
        both = (Ours(), Dlt(DLT, "connectorx", self._environments))
        series = Series("F3", "first load of all eight tables, whole process", both, verified_last=True)
        return Workload("F3", tuple(TPCH.values()), (series,))

    def tick(self) -> Workload:
        """I1 and I2, and where the time goes."""
        cold, warm, changes = Ours(), self._engine, self._sizes.changes
        everybody = (cold, warm, Dlt(DLT, "connectorx", self._environments), SparkMerge(self._environments))
        orders = Table("tick", "orders", TPCH["orders"].key)
        change = touch_orders(orders, changes)
        title = f"tick: {changes:,} rows of one table have changed"
        return Workload(
            "I1",
            (orders,),
            (Series("I1", title, everybody, rows=changes, change=change),),
            schema=orders.schema,
            make=lambda source: source.make(orders, "SELECT * FROM public.orders"),
            profiled=(cold, warm),
            profile_change=change,
        )

    def kept(self) -> Workload:
        """K: the tick of I1 by runs that leave their engine to the next one."""
        orders, changes = Table("kept", "orders", TPCH["orders"].key), self._sizes.changes
        everybody = (Ours(), *(Kept(self._folder / f"kept-{before}", before) for before in (0, 1, 5)))
        title = "the tick of I1 where a run leaves an engine to the next ones (`spark: {keep: 10m}`)"
        return Workload(
            "K",
            (orders,),
            (Series("K", title, everybody, rows=changes, change=touch_orders(orders, changes)),),
            schema=orders.schema,
            make=lambda source: source.make(orders, "SELECT * FROM public.orders"),
        )

    def ticks(self, name: str, size: Many) -> Workload:
        """I3, I4."""
        tables = tuple(Table("ticks", f"table_{number:02}", ("id",)) for number in range(size.tables))
        everybody = (Ours(), self._engine, Dlt(DLT, "connectorx", self._environments))
        changes = [touch(table, size.changes) for table in tables]
        title = f"tick: {size.changes:,} rows have changed in each of {size.tables} tables of {size.rows:,} rows"
        return Workload(
            name,
            tables,
            (Series(name, title, everybody, rows=size.tables * size.changes, change=_all(changes)),),
            schema="ticks",
            make=lambda source: [source.make(table, generated(size.rows)) for table in tables] and None,
        )

    def big_delta(self) -> Workload:
        """I6, and what memory it needs (M)."""
        orders, big = Table("big", "orders", TPCH["orders"].key), self._sizes.big
        both = (self._engine, Dlt(DLT, "connectorx", self._environments))
        change = _all([touch_orders(orders, big), _vacuum(orders)])
        in_little = (Ours(java=SMALL_JVM, room="in-little-memory"),)
        return Workload(
            "I6",
            (orders,),
            (
                Series("I6", f"big delta: {big:,} rows of one table have changed", both, rows=big, change=change),
                Series(
                    "M delta", f"{big:,} changed rows in a JVM of 2 GB", in_little, rows=big, change=change, rounds=1
                ),
            ),
            schema=orders.schema,
            make=lambda source: source.make(orders, "SELECT * FROM public.orders"),
        )

    def growth(self, word: str, rows: int) -> Workload:
        """G: the same changes into a table of another size."""
        table, changes = Table("growth", "rows", ("id",)), self._sizes.changes
        ours = self._session
        # How ours grows is asked; a tool that writes the whole table takes more minutes for the larger ones than all of the rest.
        both = (ours,) if word != "small" else (ours, Dlt(DLT, "connectorx", self._environments))
        title = f"{changes:,} changed rows of {rows:,}, {{}} keys"
        series = [
            Series(f"G {word}, recent keys", title.format("recent"), both, rows=changes, change=touch_recent(table, changes), verified_last=True),
            Series(f"G {word}, spread keys", title.format("spread"), both, rows=changes, change=touch(table, changes), verified_last=True),
        ]  # fmt: skip
        if word == "small":
            row = Series(
                f"G {word}, row of ticks", f"{self._sizes.ticks} ticks in a row, each of {changes:,} changed rows, spread keys",
                (ours,), rows=changes, change=touch(table, changes), rounds=self._sizes.ticks, settles=False, verified_last=True,
            )  # fmt: skip
            series.append(row)
        return Workload(
            f"G-{word}",
            (table,),
            tuple(series),
            schema=table.schema,
            make=lambda source: source.make(table, generated(rows)),
        )


def touch_orders(table: Table, rows: int) -> Change:
    """Exactly so many orders, others each time, spread over the keys."""

    def change(source: Source, number: int) -> None:
        source.run(
            f"UPDATE {quoted(table)} SET o_comment = 'changed for the ' || %s || '. time', updated_at = clock_timestamp() "
            f"WHERE o_orderkey IN (SELECT o_orderkey FROM {quoted(table)} ORDER BY hashint8extended(o_orderkey, %s) LIMIT %s)",
            [number, number, rows],
        )

    return change


def touch_recent(table: Table, rows: int) -> Change:
    """The rows with the highest keys, as in most tables of events."""

    def change(source: Source, number: int) -> None:
        source.run(
            f"UPDATE {quoted(table)} SET note = 'changed for the ' || %s || '. time', updated_at = clock_timestamp() "
            f"WHERE id > (SELECT max(id) FROM {quoted(table)}) - %s",
            [number, rows],
        )

    return change


def _vacuum(table: Table) -> Change:
    return lambda source, _number: source.run(f"VACUUM ANALYZE {quoted(table)}") and None


def _all(changes: Sequence[Change]) -> Change:
    def change(source: Source, number: int) -> None:
        for each in changes:
            each(source, number)

    return change
