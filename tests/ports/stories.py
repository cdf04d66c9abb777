"""Events of one table as a sync records them, for the tests of the checkpoint table."""

from __future__ import annotations

from datetime import UTC, datetime

from incremental_assets.core.captures.database.position import DatabasePosition
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.planning.target import AsLeft

ORDERS = TableId("shop", "public", "orders")
TWIN = TableId("shop", "public.orders", "x")
"""With `DOTTED` below: two tables that are one text."""
DOTTED = TableId("shop", "public", "orders.x")

APP = "6a1c0d4e-app"
TERMS = Terms(Strategy.UPSERT, ("id",), "updated_at:timestamp")


def at(hour: int) -> CursorValue:
    """So many hours into May of 2024."""
    return CursorValue.parse(CursorType.TIMESTAMP, f"2024-05-{1 + hour // 24:02d}T{hour % 24:02d}:00:00.123456789Z")


def state(seq: int, hour: int) -> State:
    """What sequence `seq` left, with every field filled."""
    return State(
        app_id=APP,
        seq=seq,
        batch_id=f"batch-{seq}",
        terms=TERMS,
        position=DatabasePosition(
            at(hour),
            at(hour + 1),
            fingerprint=Fingerprint(at(hour), 3, at(hour + 1).text, "18446744073709551616"),
            coverage=(Window(None, at(hour)),),
        ),
        identity=SourceIdentity.of(1, 2**40, system="7100000000000000000", database="shop"),
        clock=datetime(2024, 5, 1 + hour // 24, hour % 24, 30, tzinfo=UTC),
    )


def report(
    status: Status, seq: int | None = None, hour: int = 0, *, table: TableId = ORDERS, run: str = "run"
) -> SyncReport:
    """What a sync said at its end."""
    return SyncReport(
        table=table,
        run_id=run,
        strategy=Strategy.UPSERT,
        mode=Mode.SYNC,
        status=status,
        guarantee=Guarantee.SETTLED,
        guarantee_reason="no transaction was open",
        window=Window(at(hour), None) if status is Status.LANDED else None,
        settled=at(hour + 1),
        previous_watermark=at(hour),
        new_watermark=at(hour + 1),
        seq=seq,
        rows=RowCounts(read=6, inserted=3, updated=2, unchanged=1, late=1),
        target_version=seq,
        seconds=2.5,
        phases=(("plan", 0.25), ("read", 1.5)),
        warnings=("one row is stamped 9999-12-31",),
        error="the disk said \x00 no \udcff" if status is Status.FAILED else None,
    )


def intent(seq: int, *, table: TableId = ORDERS, run: str = "run") -> Event:
    return Event(table, EventKind.INTENT, run, seq, f"batch-{seq}", APP)


def staged(seq: int, *, table: TableId = ORDERS, run: str = "run") -> Event:
    return Event(table, EventKind.STAGED, run, seq, f"batch-{seq}", APP, detail="digest")


def landed(seq: int, *, table: TableId = ORDERS, run: str = "run") -> Event:
    told = report(Status.LANDED, seq, seq, table=table, run=run)
    return Event(
        table, EventKind.LANDED, run, seq, f"batch-{seq}", APP, state(seq, seq + 1), told, AsLeft("lake-id", seq, seq)
    )


def landed_late(seq: int, *, run: str = "next") -> Event:
    """Found in the lake when a newer state was in force already: it brings its numbers and no more."""
    return Event(ORDERS, EventKind.LANDED, run, seq, f"batch-{seq}", APP, report=report(Status.LANDED, seq, run=run))


def failed(*, run: str = "run") -> Event:
    return Event(ORDERS, EventKind.FAILED, run, report=report(Status.FAILED, run=run), detail="no \x00 disk \udcff")


def abandoned(seq: int, *, run: str = "next") -> Event:
    return Event(ORDERS, EventKind.ABANDONED, run, seq, f"batch-{seq}", APP)


def fence(seq: int, *, run: str = "next") -> Event:
    return Event(ORDERS, EventKind.FENCE, run, seq, f"fence-{seq}", APP)


def idle(hour: int, *, seq: int = 0, run: str = "idle") -> Event:
    return Event(ORDERS, EventKind.IDLE, run, state=state(seq, hour), report=report(Status.IDLE, hour=hour, run=run))


def reset(*, seq: int = 0) -> Event:
    return Event(ORDERS, EventKind.RESET, "reset", app_id=APP, state=state(seq, 1).rewound(TERMS, None))


def rebuilt(seq: int) -> Event:
    return Event(
        ORDERS, EventKind.REBUILT, "run", seq, app_id="another", state=state(seq, 2), target=AsLeft("lake-id", 40, 40)
    )


def sync(seq: int, *, table: TableId = ORDERS) -> list[Event]:
    """A sync as it should be."""
    return [intent(seq, table=table), staged(seq, table=table), landed(seq, table=table)]
