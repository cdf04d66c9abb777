"""A cursor by the transactions that wrote the rows: how far it settles, and what it does not hang on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from incremental_assets.core.captures.database.doubts import of_arrival
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.position import Settling
from incremental_assets.core.captures.database.settled_bound import Settled, settle
from incremental_assets.core.config import load as config
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import SelectionError, SourceRefused
from incremental_assets.core.maintenance.reset import accept_source
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.table_shape import Arrival
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Event, EventKind
from tests.core.mistakes import in_table
from tests.core.plans import NOON, landed, number, planned, seen
from tests.fakes import FakeCheckpoints
from tests.scenario import orders

NUMBERING = Column("xmin", "xid8", "bigint", Fidelity.EXACT, nullable=False)
XMIN = Cursor("xmin", CursorType.INTEGER, by_transaction=True)
CIRCLE = 2**32
WAITING = Settling(CursorValue(CursorType.INTEGER, "900"), NOON, 70)


def spec(**changes: object) -> TableSpec:
    found = orders()
    shape = replace(found.shape, numbering=NUMBERING).numbered()
    return replace(found, shape=shape, cursor=XMIN, lookback=0, holdback=0, **changes)


def settled(observation: DatabaseObservation, state: State | None = None) -> Settled:
    return settle(spec(), XMIN, observation.bound, observation.highest, state)


def at(over: int, **bound: object) -> DatabaseObservation:
    found = seen(highest=over)
    return replace(found, bound=replace(found.bound, **bound))  # type: ignore[arg-type]


@pytest.mark.parametrize("over", [3, CIRCLE - 1, CIRCLE, 7 * CIRCLE + 5])
def test_the_watermark_goes_to_the_number_below_which_all_transactions_are_over_and_from_there_on_is_read(
    over: int,
) -> None:
    found = planned(spec(), landed(spec(), number(3)), at(over))
    assert (found.reading.window, found.reading.new_watermark) == (Window(number(3), None), number(over))
    assert found.reading.settled.guarantee is Guarantee.SETTLED


@pytest.mark.parametrize(
    "unseen",
    [
        {"oldest": NOON - timedelta(hours=5)},
        {"prepared": "'moving house'"},
        {"blind": "a session hides its transactions"},
        {"blind": "a replica is read", "replica": True},
        {"unshown": NOON - timedelta(hours=5)},
        {"login_trigger": "welcome"},
    ],
)
def test_neither_a_start_nor_a_session_that_cannot_be_seen_holds_it(unseen: dict[str, object]) -> None:
    found = settled(at(900, **unseen))
    assert (found.value, found.guarantee, found.settling) == (number(900), Guarantee.SETTLED, None)


def test_what_is_not_on_the_disk_of_the_source_settles_once_it_is() -> None:
    first = settled(at(900, written=70, flushed=60), landed(spec(), number(800)))
    assert (first.value, first.settling) == (number(800), WAITING)
    state = landed(spec(), number(800), settling=first.settling)
    second = settled(at(950, clock=NOON + timedelta(minutes=1), written=90, flushed=75), state)
    assert (second.value, second.settling and second.settling.highest) == (number(900), number(950))


def test_a_crash_takes_back_what_was_not_on_the_disk_and_its_numbers_may_come_again() -> None:
    state = landed(spec(), number(800), settling=WAITING)
    found = settled(at(850, started=NOON + timedelta(minutes=1), written=90, flushed=90), state)
    assert found.value == number(850)


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (at(700), "the source's transactions are at 700, below the watermark 800"),
        (at(900, identity=SourceIdentity.of(2, 2000, system="7001", database="shop")), "from timeline 1 to 2"),
        (at(900, experimental="not tested against a server"), "not tested against a server"),
    ],
)
def test_numbers_that_may_come_again_are_a_doubt(observation: DatabaseObservation, reason: str) -> None:
    found = settled(observation, landed(spec(), number(800)))
    assert found.guarantee is Guarantee.BEST_EFFORT
    assert reason in found.reason


def test_a_row_above_the_oldest_open_transaction_is_no_sign_that_numbers_fell() -> None:
    state = landed(spec(), number(800), max_cursor_read=number(905), coverage=(Window(None, number(800)),))
    assert planned(spec(), state, at(800)).warnings == ()


@pytest.mark.parametrize("arrival", [Arrival.SUBSCRIPTION, Arrival.MATERIALIZED])
def test_rows_of_a_subscription_or_a_refresh_have_numbers_of_this_server(arrival: Arrival) -> None:
    found = spec()
    assert of_arrival(replace(found, shape=replace(found.shape, arrivals=(arrival,)))) == ""


# --- the configuration -------------------------------------------------------------------------------


def table(tmp_path: Path, snippet: str, dialect: str = "postgresql") -> TableConfig:
    file = tmp_path / "sources.yaml"
    file.write_text(in_table(snippet).replace("dialect: postgresql", f"dialect: {dialect}"), encoding="utf-8")
    return config.load(file).source("shop").tables[0]


UPSERT = "table: public.orders\ncursor: {type: xmin}\nstrategy: upsert"


def test_xmin_needs_no_column_and_has_partitions_of_many_transactions(tmp_path: Path) -> None:
    plain, sized = table(tmp_path, UPSERT), table(tmp_path, f"{UPSERT}\npartitions: {{size: 500}}")
    assert plain.cursor == replace(XMIN, column="")
    assert (plain.partitions, sized.partitions) == (IntegerGrid(100_000_000), IntegerGrid(500))


def test_its_column_is_what_the_source_shows_and_it_lands(tmp_path: Path) -> None:
    shape = replace(orders().shape, numbering=NUMBERING)
    found = resolve(table(tmp_path, UPSERT), shape)
    assert (found.cursor, found.shape.names[-1], found.terms.cursor) == (XMIN, "xmin", "xmin:integer")


def test_a_table_that_does_not_show_it_is_refused_with_other_ways(tmp_path: Path) -> None:
    with pytest.raises(
        SourceRefused, match=r"xmin, rowversion or ora_rowscn.*shows the transaction.*`compare: \{every: 1h\}`"
    ):
        resolve(table(tmp_path, UPSERT), orders().shape)


@pytest.mark.parametrize("numbering", ["first", "last"])
def test_a_column_of_the_table_s_own_stays_where_it_is_and_needs_no_key(
    tmp_path: Path, numbering: str, rowstore: str
) -> None:
    """SQL Server's `rowversion`: of two versions of a row the later one has the larger, and no row is read again without a change."""
    version = Column("v", "rowversion", "bigint", Fidelity.EXACT)
    own = orders().shape
    columns = (version, *own.columns) if numbering == "first" else (*own.columns, version)
    shape = replace(own, columns=columns, numbering=version, primary_key=(), unique_keys=())
    found = resolve(table(tmp_path, "table: dbo.orders\ncursor: {type: rowversion}", rowstore), shape)
    assert found.shape.columns == columns
    assert found.cursor == Cursor("v", CursorType.INTEGER, by_transaction=True, is_own=True)
    assert found.strategy is Strategy.APPEND


def test_so_is_a_key_that_the_source_does_not_enforce(tmp_path: Path) -> None:
    shape = replace(orders().shape, numbering=NUMBERING, primary_key=(), unique_keys=())
    with pytest.raises(SourceRefused, match="enforces no key"):
        resolve(table(tmp_path, f"{UPSERT}\nprimary_key: [id]"), shape)


def test_another_server_is_accepted_by_reading_the_table_again_alone() -> None:
    checkpoints, kept = FakeCheckpoints(), spec(strategy=Strategy.UPSERT)
    with checkpoints.lease(kept.id, "run") as lease:
        lease.record(Event(kept.id, EventKind.LANDED, "run", state=landed(kept, number(800))))
    with pytest.raises(SelectionError, match=r"other numbers.*incremental-assets reset"):
        accept_source(spec=kept, run_id="upgrade", checkpoints=checkpoints)
