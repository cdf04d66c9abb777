"""What a table does that is read from the log, decided from a look: loaded, gone on with, left alone, or stopped by name."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from incremental_assets.core.captures.capture import Read
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.observation import Parts
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.captures.log import LOG
from incremental_assets.core.captures.log.lsn import lsn_of, lsn_text
from incremental_assets.core.captures.log.observation import LogObservation, LogSeen
from incremental_assets.core.captures.log.position import Join, LogPosition
from incremental_assets.core.captures.log.reading import of_log
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.errors import SchemaChanged, SelectionError, SourceExchanged, SourceRefused, TermsChanged
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.definition import Fact, remembered
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.report import RowCounts, SyncReport

CLOCK = datetime(2024, 1, 29, 9, tzinfo=UTC)
ID = Column("id", "integer", "int", Fidelity.EXACT, nullable=False, identity="7.1")
NOTE = Column("note", "text", "string", Fidelity.EXACT, identity="7.2")
SHAPE = TableShape(TableId("shop", "public", "orders"), (ID, NOTE), ("id",), splits=True)
SPEC = TableSpec(SHAPE, Strategy.UPSERT, key=("id",), key_enforced=True, capture="log")
JOIN = Join("10:20:12", 0x180)
SEEN = LogSeen(flushed=0x100, number=7, server="77/00000001")


class Shown:
    """What was read up to a position."""

    def __init__(self, end: int, join: Join | None = None, *, goes_on: bool = False, strays: int = 0) -> None:
        self.end, self.join, self.goes_on, self.strays = end, join, goes_on, strays


def look(**changes: object) -> LogObservation:
    return LogObservation(bound=Bound(CLOCK, None, "", None, "", "UTC", None), log=replace(SEEN, **changes))  # type: ignore[arg-type]


def planned(
    state: State | None, mode: Mode = Mode.SYNC, spec: TableSpec = SPEC, **changes: object
) -> SyncPlan | NothingToDo:
    return LOG.plan(spec, Request("run", mode), state, CommitIds("app", 1, "batch"), look(**changes))


def to_read(state: State | None, mode: Mode = Mode.SYNC, spec: TableSpec = SPEC, **changes: object) -> SyncPlan:
    found = planned(state, mode, spec, **changes)
    assert isinstance(found, SyncPlan)
    return found


def loaded(end: int = 0x90, spec: TableSpec = SPEC, join: Join | None = JOIN) -> State:
    return LOG.landed(to_read(None, spec=spec), Read(3, Shown(end, join)))


def test_a_table_that_names_the_log_is_read_from_it() -> None:
    assert capture_of(SPEC) is LOG
    assert SPEC.terms.cursor == "log"


def test_positions_are_written_as_the_server_writes_them() -> None:
    assert lsn_of("16/B374D848") == 0x16B374D848
    assert lsn_text(0x16B374D848) == "16/B374D848"


def test_a_table_that_never_landed_is_loaded_and_keeps_where_the_log_goes_on() -> None:
    plan = to_read(None)
    assert (of_log(plan).begin, plan.reading.is_whole, plan.overwrites) == (None, True, False)
    state = loaded()
    assert state.position == LogPosition(
        lsn=0x90, number=7, server="77/00000001", layout=of_log(plan).layout, join=JOIN
    )
    assert (str(state.position), state.rows) == ("0/90", 3)


def test_its_state_comes_back_from_its_document() -> None:
    for state in (loaded(), loaded(join=None)):
        document = json.loads(state.to_json())
        assert (document["version"], document["capture"]) == (4, "log")
        assert state_of(state.to_json()) == state


def test_a_state_that_an_earlier_release_left_comes_back() -> None:
    document = json.loads(loaded().to_json())
    del document["position"]["behind"], document["position"]["lacked"]
    assert state_of(json.dumps(document)) == loaded()


def test_changes_are_read_behind_the_position_with_the_snapshot_that_still_counts() -> None:
    plan = to_read(loaded())
    assert (of_log(plan).begin, of_log(plan).join, plan.reading.behind, plan.overwrites) == (0x90, JOIN, "0/90", False)
    assert plan.reading.promise.guarantee is Guarantee.SETTLED
    assert plan.reading.promise.reason == "every transaction that the source's log has up to 0/100"
    state = LOG.landed(plan, Read(2, Shown(0x200)))
    assert (str(state.position), state.rows) == ("0/200", None)
    # For a history that has still to follow: from where they came, and what counted for them.
    assert isinstance(state.position, LogPosition)
    assert (state.position.behind, state.position.lacked, state.position.join) == (0x90, JOIN, None)
    assert state_of(state.to_json()) == state


def test_a_log_that_has_nothing_more_leaves_the_table_alone() -> None:
    found = planned(loaded(0x100))
    assert isinstance(found, NothingToDo)
    assert (found.reason, found.state) == ("the log has nothing behind 0/100", None)


def test_a_reset_and_a_refresh_load_the_table_anew_in_place_of_what_landed() -> None:
    reset = loaded().rewound(SPEC.terms, None)
    assert reset.position == LogPosition()
    for plan in (to_read(reset), to_read(loaded(), Mode.FULL_REFRESH)):
        assert (of_log(plan).begin, of_log(plan).join, plan.overwrites) == (None, None, True)


def test_the_look_tells_why_the_log_cannot_be_read() -> None:
    why = SourceRefused("shop.public.orders: there is no replication slot s")
    for state in (None, loaded()):
        with pytest.raises(SourceRefused, match="there is no replication slot s"):
            planned(state, refused=why)
    # What was missed matters to those alone that go on.
    with pytest.raises(SourceRefused, match="there is no replication slot s"):
        planned(loaded(), behind=why)
    assert to_read(None, behind=why)
    assert to_read(loaded(), Mode.FULL_REFRESH, behind=why)


ADDED = replace(SPEC, shape=replace(SHAPE, columns=(ID, NOTE, replace(NOTE, name="more", identity="7.3"))))
RETYPED = replace(SPEC, shape=replace(SHAPE, columns=(ID, replace(NOTE, source_type="json"))))
AGAIN = replace(SPEC, shape=replace(SHAPE, columns=(ID, replace(NOTE, identity="7.9"))))


@pytest.mark.parametrize("spec", [ADDED, RETYPED, AGAIN], ids=["added", "retyped", "dropped and added again"])
def test_other_columns_than_were_loaded_stop_the_table(spec: TableSpec) -> None:
    with pytest.raises(SchemaChanged, match="the source's columns are not those with which the copy was loaded"):
        planned(loaded(), spec=spec)
    assert to_read(loaded(), Mode.FULL_REFRESH, spec)


def test_another_table_or_another_log_stops_it() -> None:
    with pytest.raises(SourceExchanged, match=r"another table has its name .* \(number 8, before 7\)"):
        planned(loaded(), number=8)
    with pytest.raises(SourceExchanged, match=r"the log is another one .* \(77/00000002, before 77/00000001\)"):
        planned(loaded(), server="77/00000002")


def test_other_terms_stop_it() -> None:
    with pytest.raises(TermsChanged, match="cursor log -> none"):
        capture_of(replace(SPEC, capture="")).plan(
            replace(SPEC, capture=""), Request("run"), loaded(), CommitIds("app", 1, "batch"), look()
        )


@pytest.mark.parametrize("mode", [Mode.BACKFILL, Mode.FILL])
def test_nothing_is_read_again_in_parts(mode: Mode) -> None:
    with pytest.raises(SelectionError, match="is not read again in parts"):
        planned(loaded(), mode)


@pytest.mark.parametrize("mode", [Mode.REPAIR, Mode.REPLAY])
def test_a_repair_or_replay_reads_what_differs_and_leaves_the_position_as_it_is(mode: Mode) -> None:
    before = LOG.landed(to_read(loaded()), Read(2, Shown(0x100)))
    plan = to_read(before, mode)
    assert (plan.reading.finds_differing, plan.reading.finds_gone, plan.reading.behind) == (True, True, "")
    state = LOG.landed(plan, Read(2, Shown(0x100), compared=KeysCompared(CLOCK)))
    assert (str(state.position), state.compared, state.rows) == ("0/100", None, None)
    assert isinstance(state.position, LogPosition)
    # No change of the log has brought it, so that a history follows the copy.
    assert (state.position.behind, state.position.lacked) == (None, None)
    append = replace(SPEC, strategy=Strategy.APPEND)
    with pytest.raises(SelectionError, match="is not read again in parts"):
        planned(loaded(spec=append), mode, append)


def test_no_other_server_goes_on_from_a_place_in_this_log() -> None:
    with pytest.raises(SelectionError, match="0/90 is a place in the log of one server"):
        LOG.moved(SPEC, loaded())


def test_a_server_that_has_taken_over_is_gone_on_with_once_it_is_accepted() -> None:
    before = LOG.landed(to_read(None, numbered=True), Read(3, Shown(0x90)))
    elsewhere = {
        "server": "88/binlog",
        "numbered": True,
        "flushed": 1 << 56 | 4,
        "moves": True,
        "behind": SourceExchanged("another server answers"),
    }
    with pytest.raises(SourceExchanged, match="another server answers"):
        planned(before, **elsewhere)
    accepted = LOG.moved(SPEC, before)
    plan = to_read(accepted, **elsewhere)
    assert (of_log(plan).moves, plan.reading.begin) == (True, 0x90)
    with pytest.raises(SourceExchanged):
        planned(accepted, **elsewhere | {"moves": False})
    with pytest.raises(SourceExchanged):
        planned(accepted, Mode.REPAIR, **elsewhere)
    after = LOG.landed(plan, Read(2, Shown(1 << 56 | 4)))
    assert isinstance(after.position, LogPosition)
    assert LogPosition.from_json(after.position.to_json()) == after.position
    assert (after.position.server, after.position.behind) == ("88/binlog", 0x90)
    # Another table of the source has gone on already.
    with pytest.raises(SourceExchanged, match="--accept-source"):
        planned(before, server="88/binlog", numbered=True)
    assert not of_log(to_read(accepted, server="88/binlog", numbered=True)).moves


def with_file(name: str) -> TableSpec:
    return replace(SPEC, shape=replace(SHAPE, facts=(Fact("file 7", (name,), "it was rewritten or emptied"),)))


def before_it_was_rewritten(columns_written: str) -> State:
    state = replace(loaded(), definition=remembered(None, with_file("1").shape.facts or ()))
    assert isinstance(state.position, LogPosition)
    return replace(state, position=replace(state.position, columns_written=columns_written))


def rewritten(state: State, **changes: object) -> SyncPlan:
    return to_read(state, spec=with_file("2"), **changes)


@pytest.mark.parametrize("then", ["a", ""], ids=["of one that was kept", "of a state that kept none"])
def test_another_file_of_a_table_that_is_published_by_its_name_loses_no_change(then: str) -> None:
    plan = rewritten(before_it_was_rewritten(then), columns_written="a")
    assert plan.reading.promise.guarantee is Guarantee.SETTLED
    assert not [each for each in plan.warnings if "rewritten" in each]


def test_another_file_beside_a_column_that_was_altered_stops_it() -> None:
    with pytest.raises(SchemaChanged, match=r"it was rewritten or emptied and a column was altered .* --full-refresh"):
        rewritten(before_it_was_rewritten("a"), columns_written="b")
    # A default may be altered without a new file.
    plan = to_read(before_it_was_rewritten("a"), spec=with_file("1"), columns_written="b")
    state = LOG.landed(plan, Read(2, Shown(0x200)))
    assert isinstance(state.position, LogPosition)
    assert state.position.columns_written == "b"


def test_another_file_of_a_table_that_may_have_been_unlogged_is_no_promise() -> None:
    plan = rewritten(before_it_was_rewritten("a"), columns_written="a", always_logged=False)
    assert plan.reading.promise.guarantee is Guarantee.BEST_EFFORT
    assert "it may have been UNLOGGED for a while" in plan.reading.promise.reason
    state = LOG.landed(plan, Read(2, Shown(0x200)))
    report, _ = LOG.judged(plan, SyncReport.landed(plan, None, RowCounts(), 1, ()), state)
    assert report.guarantee is Guarantee.BEST_EFFORT


def test_a_column_whose_text_the_catalogue_decides_is_no_promise_as_no_log_tells_of_it() -> None:
    shown = replace(NOTE, shown_by="a value of the type regclass is written as the catalogue says")
    spec = replace(SPEC, shape=replace(SHAPE, columns=(ID, shown)))
    state = loaded(spec=spec)
    going_on, idle = to_read(state, spec=spec), planned(state, spec=spec, flushed=0x90)
    assert isinstance(idle, NothingToDo)
    assert {to_read(None, spec=spec).reading.promise.guarantee, going_on.reading.promise.guarantee, idle.guarantee} == {
        Guarantee.BEST_EFFORT
    }
    assert "what 'note' shows does not depend on its row alone" in idle.guarantee_reason


def test_the_report_says_how_far_it_was_read_and_not_how_far_it_was_seen() -> None:
    plan = to_read(loaded())
    state = LOG.landed(plan, Read(2, Shown(0x200)))
    report, _ = LOG.judged(plan, SyncReport.landed(plan, None, RowCounts(), 1, ()), state)
    assert report.guarantee_reason == "every transaction that the source's log has up to 0/200"


PARTED = LogObservation(bound=look().bound, log=SEEN, parts=Parts((8,)))
"""A partition of the number 8; of those that landed, number 9 has left."""


def with_parts(spec: TableSpec = SPEC) -> State:
    state = loaded(spec=spec)
    assert isinstance(state.position, LogPosition)
    return replace(state, position=replace(state.position, members=(8, 9)))


def next_of(state: State, mode: Mode = Mode.SYNC, seen: LogObservation = PARTED) -> SyncPlan | NothingToDo:
    return LOG.plan(SPEC, Request("run", mode), state, CommitIds("app", 1, "batch"), seen)


def test_what_the_log_has_of_a_partition_that_left_lands_before_all_rows_are_compared() -> None:
    first = next_of(with_parts())
    assert isinstance(first, SyncPlan)
    assert (first.reading.finds_differing, of_log(first).begin) == (False, 0x90)
    assert (first.reading.promise.guarantee, first.reading.promise.reason) == (
        Guarantee.BEST_EFFORT,
        "1 partition left since the last sync, and the log does not tell of their rows, which the next sync compares",
    )
    # Nothing more is in the log, and the comparison is owed all the same.
    state = LOG.landed(first, Read(2, Shown(0x100)))
    assert state_of(state.to_json()) == state
    second = next_of(state)
    assert isinstance(second, SyncPlan)
    assert (second.reading.finds_differing, second.reading.promise.guarantee) == (True, Guarantee.SETTLED)
    after = LOG.landed(second, Read(2, Shown(0x100), compared=KeysCompared(CLOCK)))
    assert str(after.position) == "0/100"
    assert isinstance(next_of(after), NothingToDo)


def test_a_partition_that_leaves_while_a_comparison_is_owed_has_the_log_read_first_again() -> None:
    first = next_of(with_parts())
    assert isinstance(first, SyncPlan)
    state = LOG.landed(first, Read(2, Shown(0x100)))
    again = next_of(state, seen=replace(PARTED, parts=Parts((7, 8))))
    assert isinstance(again, SyncPlan)
    assert (again.reading.finds_differing, of_log(again).untold) == (
        False,
        "1 partition left and 1 partition came with rows",
    )
    repaired = next_of(state, Mode.REPAIR)
    assert isinstance(repaired, SyncPlan)
    after = LOG.landed(repaired, Read(0, Shown(0x100)))
    # A repair leaves to the log what changed behind the position, so that it settles nothing.
    assert isinstance(next_of(after), SyncPlan)


def test_a_comparison_waits_for_the_end_of_what_the_log_had() -> None:
    first = next_of(with_parts())
    assert isinstance(first, SyncPlan)
    state = LOG.landed(first, Read(2, Shown(0xA0, goes_on=True)))
    assert state_of(state.to_json()) == state
    second = next_of(state)
    assert isinstance(second, SyncPlan)
    assert (second.reading.finds_differing, second.reading.promise.guarantee, of_log(second).untold) == (
        False,
        Guarantee.BEST_EFFORT,
        "1 partition left",
    )
    third = next_of(LOG.landed(second, Read(2, Shown(0x100))))
    assert isinstance(third, SyncPlan)
    assert third.reading.finds_differing


@pytest.mark.parametrize(
    ("spec", "later", "compared"),
    [(SPEC, ", which the next sync compares", True), (replace(SPEC, strategy=Strategy.APPEND), "", False)],
)
def test_a_partition_that_only_the_log_names_lowers_the_promise_and_is_compared_where_rows_can_be(
    spec: TableSpec, later: str, compared: bool
) -> None:
    state, seen = with_parts(spec), replace(PARTED, parts=Parts((8, 9)))
    first = LOG.plan(spec, Request("run", Mode.SYNC), state, CommitIds("app", 1, "batch"), seen)
    assert isinstance(first, SyncPlan)
    state = LOG.landed(first, Read(2, Shown(0x100, strays=1)))
    report, _ = LOG.judged(first, SyncReport.landed(first, None, RowCounts(), 1, ()), state)
    assert (report.guarantee, report.guarantee_reason) == (
        Guarantee.BEST_EFFORT,
        f"1 partition came or left while it was written since the last sync, and the log does not tell of their rows{later}",
    )
    second = LOG.plan(spec, Request("run", Mode.SYNC), state, CommitIds("app", 1, "batch"), seen)
    assert (isinstance(second, SyncPlan) and second.reading.finds_differing) is compared
