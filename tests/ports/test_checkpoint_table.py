"""The checkpoint table as SQL: what people query, what is kept, and positions that equal the fold of the whole history."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.model.column import Column, Fidelity, Sequence
from incremental_assets.core.model.definition import Fact
from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.model.stamping import Cut, Stamp, Stamping, Unit, Unproven
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, RoleZone, TableShape
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.planning.events import Event, EventKind
from tests.fakes.ledger import fold
from tests.ports.stories import (
    DOTTED,
    ORDERS,
    abandoned,
    at,
    failed,
    fence,
    idle,
    intent,
    landed,
    landed_late,
    rebuilt,
    reset,
    staged,
    state,
    sync,
)

# Both as they stand on the LakeXpress page.
CONFIGURATIONS = """
-- View all incremental configurations
SELECT
    sync_id,
    config_name,
    source_table,
    incremental_column,
    last_watermark,
    updated_at
FROM sync_configurations
WHERE is_incremental = true
ORDER BY updated_at DESC;
"""
WATERMARKS = """
-- View recent watermark updates
SELECT
    run_id,
    sync_id,
    source_table,
    previous_watermark,
    new_watermark,
    rows_exported,
    started_at,
    completed_at
FROM incremental_watermarks
ORDER BY completed_at DESC
LIMIT 10;
"""

WHOLE = Event(DOTTED, EventKind.RESET, "r", state=state(0, 1).rewound(Terms(Strategy.FULL_REFRESH, (), ""), None))
"""A table that is read whole."""


def tell(checkpoints: SqlCheckpoints, events: list[Event]) -> None:
    by_table: dict[TableId, list[Event]] = {}
    for event in events:
        by_table.setdefault(event.table, []).append(event)
    for table, own in by_table.items():
        with checkpoints.lease(table, "test") as lease:
            for event in own:
                lease.record(event)


def ask(url: str, query: str) -> list[dict[str, object]]:
    database = Database(url)
    with database.transaction() as connection:
        rows = [dict(row._mapping) for row in connection.execute(text(query))]
    database.close()
    return rows


def test_the_queries_of_the_lakexpress_page_run_unchanged(url: str, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, [*sync(0), *sync(1), idle(5), WHOLE])
    (row,) = ask(url, CONFIGURATIONS)
    assert (row["config_name"], row["source_table"]) == ("shop", "shop.public.orders")
    assert (row["incremental_column"], row["last_watermark"]) == ("updated_at", at(5).text)
    rows = ask(url, WATERMARKS)
    assert [found["run_id"] for found in rows] == ["idle", "run", "run"]
    assert {found["sync_id"] for found in rows} == {row["sync_id"]}
    assert [found["new_watermark"] for found in rows] == [at(5).text, at(2).text, at(1).text]
    assert rows[1]["rows_exported"] == 6
    begun, ended = (_moment(rows[0][name]) for name in ("started_at", "completed_at"))
    assert ended - begun == pytest.approx(timedelta(seconds=2.5), abs=timedelta(seconds=0.1))
    assert abs(datetime.now(UTC) - ended) < timedelta(minutes=1)


def test_the_views_have_the_promised_columns(url: str, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, [*sync(0), failed()])
    (configuration,) = ask(url, "SELECT * FROM sync_configurations")
    assert " ".join(configuration) == (
        "sync_id config_name source_table incremental_column strategy last_watermark updated_at is_incremental"
    )
    assert configuration["strategy"] == "upsert"
    done, error = ask(url, "SELECT * FROM incremental_watermarks ORDER BY completed_at")
    assert " ".join(done) == (
        "run_id sync_id source_table seq status mode strategy previous_watermark new_watermark window_lower window_upper "
        "guarantee rows_exported rows_inserted rows_updated rows_deleted rows_unchanged rows_late rows_quarantined "
        "target_version started_at completed_at error"
    )
    assert (done["seq"], done["status"], done["window_lower"], done["window_upper"]) == (0, "landed", at(0).text, None)
    assert (error["status"], error["error"]) == ("failed", "the disk said  no \\udcff")


def test_a_change_of_columns_is_a_row_of_the_transaction_that_records_its_landing(
    url: str, checkpoints: SqlCheckpoints
) -> None:
    widened = SchemaChange("id", Change.WIDENED, "int", "bigint", "schema_changes: widen")
    added = SchemaChange("colour", Change.ADDED, None, "string", "schema_changes: widen")
    assert checkpoints.standings() == {}
    for seq, changes in enumerate([(widened, added), ()]):
        done = landed(seq)
        assert done.report is not None
        told = replace(done, report=replace(done.report, schema_changes=changes))
        tell(checkpoints, [intent(seq), told])
        assert checkpoints.position(ORDERS).last_report == told.report
    tell(checkpoints, [intent(2), failed()])
    rows = ask(url, "SELECT * FROM schema_changes ORDER BY change_id")
    assert [(row["source_table"], row["seq"], row["run_id"], row["column_name"]) for row in rows] == [
        ("shop.public.orders", 0, "run", "id"),
        ("shop.public.orders", 0, "run", "colour"),
    ]
    assert all(abs(datetime.now(UTC) - _moment(row["at"])) < timedelta(minutes=1) for row in rows)
    last = checkpoints.standings()[ORDERS].changed
    assert last is not None
    assert last[1] == added

    # One that cannot be written takes its event with it.
    assert told.report is not None
    broken = replace(told.report, seq=3, schema_changes=(replace(added, column=None),))  # type: ignore[arg-type]
    with pytest.raises(IntegrityError):
        tell(checkpoints, [replace(told, seq=3, report=broken)])
    assert ask(url, "SELECT seq FROM checkpoints WHERE seq = 3") == []


def test_a_table_read_whole_is_no_incremental_configuration(url: str, checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, [WHOLE])
    assert ask(url, CONFIGURATIONS) == []
    (row,) = ask(url, "SELECT * FROM sync_configurations")
    assert (row["incremental_column"], row["last_watermark"], bool(row["is_incremental"])) == (None, None, False)


def test_a_position_is_the_fold_of_the_history_whatever_happened(checkpoints: SqlCheckpoints) -> None:
    dice = random.Random(7)
    history: list[Event] = []
    seq = 0
    with checkpoints.lease(ORDERS, "test") as lease:
        for _ in range(40):
            for event in _chapter(dice, seq):
                lease.record(event)
                history.append(event)
                seq = max(seq, (event.seq if event.seq is not None else -1) + 1)
                assert checkpoints.position(ORDERS) == fold(history)
    # What a failure's text loses is what no database of text can hold.
    told = [replace(event, detail=event.detail.replace("\x00", "").replace("\udcff", "\\udcff")) for event in history]
    assert [kept.event for kept in checkpoints.history(ORDERS, limit=1000)] == told
    assert checkpoints.positions() == {ORDERS: fold(history)}


def _chapter(dice: random.Random, seq: int) -> list[Event]:
    """One run, and what may have become of it."""
    run = f"run-{dice.randrange(10**9)}"
    begun = [intent(seq, run=run), staged(seq, run=run)]
    return dice.choice(
        [
            [*begun, landed(seq, run=run)],
            [begun[0], failed(run=run)],
            [begun[0], failed(run="other")],
            [*begun, failed(run=run), fence(seq + 1), abandoned(seq)],
            [*begun, fence(seq + 1), fence(seq + 2), landed(seq, run="next")],
            [*begun, reset(seq=seq), fence(seq + 1), landed_late(seq)],
            [begun[0]],
            [failed(run=run)],
            [idle(dice.randrange(20), run=run)],
            [rebuilt(seq)],
            [reset()],
        ]
    )


def test_history_is_told_from_its_end_oldest_first_on_the_databases_clock(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, [*sync(0), *sync(1), *sync(0, table=DOTTED)])
    kept = checkpoints.history(ORDERS, limit=4)
    assert [(entry.event.kind.value, entry.event.seq) for entry in kept] == [
        ("landed", 0),
        ("intent", 1),
        ("staged", 1),
        ("landed", 1),
    ]
    assert abs(datetime.now(UTC) - kept[-1].at) < timedelta(minutes=1)
    assert checkpoints.history(TableId("shop", "public", "none")) == ()


def test_idle_rows_do_not_pile_up_and_nothing_else_is_ever_removed(url: str) -> None:
    checkpoints = SqlCheckpoints(url, keep_idle=timedelta(0))
    events = [*sync(0), idle(2), idle(3), failed(), idle(4), *sync(1), idle(5), idle(6), failed()]
    with checkpoints.lease(ORDERS, "test") as lease:
        for count, event in enumerate(events, start=1):
            lease.record(event)
            assert checkpoints.position(ORDERS) == fold(events[:count])
    kinds = [kept.event.kind.value for kept in checkpoints.history(ORDERS)]
    assert [kind for kind in kinds if kind != "idle"] == [event.kind.value for event in events if event.kind != "idle"]
    assert kinds.count("idle") <= 3
    assert checkpoints.position(ORDERS).state == idle(6).state
    checkpoints.close()


def test_idle_rows_of_the_last_hour_stay(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, [*sync(0), idle(2), idle(3), idle(4)])
    assert [kept.event.kind.value for kept in checkpoints.history(ORDERS)][3:] == ["idle", "idle", "idle"]


def test_the_catalogue_last_seen_comes_back_as_it_was(checkpoints: SqlCheckpoints) -> None:
    drawn = Sequence(
        "public.ids",
        step=-1,
        cache=10,
        cycles=True,
        logged=False,
        always=True,
        restarts=False,
        last=7,
        seen=False,
        trigger="renumbers",
    )
    stamping = Stamping(
        Stamp((Cut(Unit.HOUR, aligned=False),), "UTC"), Unproven("its trigger is off"), (Cut(Unit.SECOND),), "17"
    )
    told = Column(
        "id",
        "bigint",
        "bigint",
        Fidelity.EXACT,
        nullable=False,
        comment="its",
        identity="7.1",
        sequence=drawn,
        stamps=stamping,
        encoding="LATIN1",
        collation="nocase",
        no_key="its collation is the application's own",
        shown_by="it is computed when it is read",
        of=(Column("code", "text", "string", Fidelity.TEXT, collation="nocase"),),
        readings=("timestamp_ntz", "date"),
        of_log=True,
    )
    orders = TableShape(
        id=ORDERS,
        columns=(
            told,
            replace(told, name="at", stamps=Stamping()),
            Column("ünï'code\"", "numeric", "string", Fidelity.TEXT, comment="a 'comment'"),
        ),
        primary_key=("id",),
        unique_keys=(("a", "b"), ("c",)),
        indexed_keys=((told, replace(told, name="at", stamps=Stamping())),),
        own_key=("a",),
        comment="orders",
        rows=7,
        bytes=8192,
        splits=True,
        pages=1,
        row_versions=True,
        filtered=True,
        arrivals=(Arrival.FOREIGN, Arrival.SUBSCRIPTION),
        zones=(RoleZone("clerk", "Asia/Tokyo"),),
        logged=False,
        readable=False,
        undescribed="no such table",
        updates=3,
        left_out=("secret",),
        facts=(Fact("column id", ("7", "bigint"), "its column id was made anew"),),
        numbering=Column("xmin", "xid8", "bigint", Fidelity.EXACT, nullable=False),
        by_itself=True,
    )
    for each in (orders, told, drawn):
        assert [field.name for field in fields(each) if getattr(each, field.name) == field.default] == []
    shapes = (orders, TableShape(DOTTED, ()))
    assert checkpoints.catalogue("shop") is None
    checkpoints.remember_catalogue("shop", shapes)
    checkpoints.remember_catalogue("other", shapes[1:])
    assert checkpoints.catalogue("shop") == shapes
    checkpoints.remember_catalogue("shop", shapes[:1])
    assert checkpoints.catalogue("shop") == shapes[:1]
    assert checkpoints.catalogue("other") == shapes[1:]


def _moment(value: object) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(str(value)).replace(tzinfo=UTC)
