"""One awkward `orders` table through three days. Every odd row is here because some tool has lost it or landed it twice.

The days are steps of a source; the stories of `tests/core` sync between them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from incremental_assets.core.model.column import Column, Fidelity, Sequence
from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.deletes import IGNORED, Deletes
from incremental_assets.core.model.history import History
from incremental_assets.core.model.stamping import BY_THE_SOURCE, Stamping
from incremental_assets.core.model.table import Cursor, FuturePolicy, NullPolicy, Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from tests.fakes import SimulatedDatabase, Transaction

ORDERS = TableId("shop", "public", "orders")
COUNTRIES = TableId("shop", "public", "countries")

MONDAY = datetime(2024, 1, 29, 9, tzinfo=UTC)


def _column(name: str, source_type: str, spark_type: str, *, nullable: bool = True) -> Column:
    return Column(name, source_type, spark_type, Fidelity.EXACT, nullable)


ORDERS_SHAPE = TableShape(
    id=ORDERS,
    columns=(
        replace(_column("id", "bigint", "bigint", nullable=False), sequence=Sequence("public.ids")),
        _column("customer", "text", "string"),
        _column("status", "text", "string"),
        replace(_column("updated_at", "timestamp with time zone", "timestamp"), stamps=BY_THE_SOURCE),
    ),
    primary_key=("id",),
    row_versions=True,
)

COUNTRIES_SHAPE = TableShape(
    id=COUNTRIES,
    columns=(_column("code", "text", "string", nullable=False), _column("name", "text", "string")),
    primary_key=("code",),
)


def orders(
    strategy: Strategy = Strategy.UPSERT,
    *,
    cursor: str = "updated_at",
    nulls: NullPolicy = NullPolicy.FAIL,
    future: FuturePolicy = FuturePolicy.LAND,
    lookback: Span = 0,
    holdback: Span = 0,
    start: str | None = None,
    zone: str | None = None,
    size: int = 0,
    deletes: Deletes = IGNORED,
    history: History = History.NONE,
) -> TableSpec:
    """The table on its usual terms: by `updated_at`, or by its sequence with `cursor="id"`; `size` in bytes, as the source's catalogue tells it."""
    kind = CursorType.INTEGER if cursor == "id" else CursorType.TIMESTAMP
    return TableSpec(
        shape=replace(ORDERS_SHAPE, bytes=size),
        strategy=strategy,
        cursor=None if strategy is Strategy.FULL_REFRESH else Cursor(cursor, kind, nulls=nulls, zone=zone),
        key=("id",),
        key_enforced=True,
        lookback=lookback,
        holdback=holdback,
        future=future,
        start=None if start is None else CursorValue.parse(kind, start),
        deletes=deletes,
        history=history,
    )


def written_by(spec: TableSpec, stamps: Stamping | None, within: timedelta | None = None) -> TableSpec:
    """The same table, of which the catalogue shows this of its stamps; `within`: as the configuration declares."""
    columns = tuple(replace(each, stamps=stamps) if each.name == "updated_at" else each for each in spec.columns)
    cursor = spec.cursor and replace(spec.cursor, within=within)
    return replace(spec, shape=replace(spec.shape, columns=columns), cursor=cursor)


def countries() -> TableSpec:
    """A small table without a cursor."""
    return TableSpec(shape=COUNTRIES_SHAPE, strategy=Strategy.FULL_REFRESH, key=("code",), key_enforced=True)


def stamped(kind: CursorType) -> TableShape:
    """The orders with a cursor of another time type."""
    names = {CursorType.DATE: "date", CursorType.DATETIME: "timestamp without time zone"}
    columns = tuple(
        replace(each, source_type=names.get(kind, each.source_type)) if each.name == "updated_at" else each
        for each in ORDERS_SHAPE.columns
    )
    return replace(ORDERS_SHAPE, columns=columns)


def shop() -> SimulatedDatabase:
    """The shop before it opens, at nine on Monday."""
    return SimulatedDatabase(ORDERS_SHAPE, COUNTRIES_SHAPE, clock=MONDAY)


def order(
    database: SimulatedDatabase | Transaction, customer: str, stamp: str, status: str = "new", number: int | None = None
) -> int:
    """One order under the next number of the sequence."""
    source = database if isinstance(database, SimulatedDatabase) else database.database
    drawn = source.nextval() if number is None else number
    database.insert(ORDERS, id=drawn, customer=customer, status=status, updated_at=stamp)
    return drawn


def monday(database: SimulatedDatabase) -> Transaction:
    """Five orders, two of them with one stamp, and one that is left open over lunch. Gives the open transaction."""
    order(database, "ada", database.stamp())
    database.tick(60)
    # One statement, one stamp: a page or a watermark that cuts between the two loses the second.
    with database.transaction() as import_job:
        order(import_job, "grace", import_job.stamp())
        order(import_job, "grace", import_job.stamp())
    database.tick(60)
    # A clerk opens a form, is called away, and commits with this morning's stamp after others have committed later ones.
    clerk = database.begin()
    order(clerk, "edsger", clerk.stamp())
    database.tick(60)
    # The microsecond after the tie: a watermark rounded to milliseconds would jump over it or land it twice.
    order(database, "barbara", database.stamp(at=database.clock + timedelta(microseconds=1)))
    database.tick(600)
    return clerk


def tuesday(database: SimulatedDatabase, clerk: Transaction) -> None:
    """The clerk commits, an order changes twice, one goes away, and somebody typed the year 2999."""
    clerk.commit()
    database.tick(86_400)
    database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=database.stamp())
    database.tick(60)
    database.update(ORDERS, {"customer": "ada"}, status="sent", updated_at=database.stamp())
    database.tick(60)
    # A wrong year: `max(cursor)` as the watermark would be there, and no order of the next thousand years be read.
    order(database, "alan", "2999-12-31T00:00:00Z", "preorder")
    # A number is drawn and the order given up: numbers have gaps, and a gap is not a row still to come.
    abandoned = database.begin()
    order(abandoned, "nobody", abandoned.stamp())
    abandoned.abort()
    database.tick(600)


def wednesday(database: SimulatedDatabase) -> None:
    """A transaction that began first writes last, so that the newest version carries the older stamp."""
    database.tick(86_400)
    first = database.begin()
    database.tick(1)
    database.update(ORDERS, {"customer": "barbara"}, status="paid", updated_at=database.stamp())
    database.tick(1)
    first.update(ORDERS, {"customer": "barbara"}, status="cancelled", updated_at=first.stamp())
    first.commit()
    database.tick(600)
