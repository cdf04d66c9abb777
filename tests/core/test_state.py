"""The resumable state: one JSON document that comes back as it was, to the microsecond and beyond 64 bits."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.captures.database.position import UNREAD, DatabasePosition, Settling, position_of
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.errors import CheckpointsTooNew
from incremental_assets.core.model.clock_reading import ClockReading, HostClock, PutBack
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.fingerprint import Fingerprint, LastRead
from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.stamping import Cut, StampsSeen, Unit
from incremental_assets.core.model.state import VERSION, State
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.model.unfilled import Unfilled
from incremental_assets.core.model.window import Window
from tests.core.plans import placed

moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
numbers = st.integers(-(10**30), 10**30).map(lambda value: CursorValue(CursorType.INTEGER, str(value)))
times = moments.map(lambda moment: CursorValue.of(CursorType.TIMESTAMP, moment)) | st.sampled_from(
    [
        CursorValue.parse(CursorType.TIMESTAMP, text)
        for text in ("infinity", "-infinity", "0044-03-15 00:00:00+00 BC", "294276-01-01 00:00:00+00")
    ]
)
texts = st.text(max_size=20)
seconds = st.floats(0, 2**40)
hosts = st.builds(HostClock, texts, seconds, seconds, seconds)


@st.composite
def states(draw: st.DrawFn) -> State:
    values = draw(st.sampled_from([numbers, times]))
    some = st.none() | values
    ends = sorted(draw(st.lists(values, min_size=2, max_size=2)))
    return State(
        app_id=draw(texts),
        seq=draw(st.integers(0, 10**12)),
        batch_id=draw(texts),
        terms=Terms(
            draw(st.sampled_from(Strategy)),
            tuple(draw(st.lists(texts, max_size=3))),
            draw(texts),
            draw(st.none() | texts),
        ),
        position=draw(
            st.builds(
                DatabasePosition,
                some,
                some,
                st.none() | st.builds(Settling, values, moments, st.none() | st.integers(0, 2**64)),
                some,
                st.none() | st.builds(Fingerprint, some, st.integers(0, 10**12), st.none() | texts, texts),
                st.none() | st.builds(ClockReading, moments, st.none() | moments, st.none() | hosts),
                st.none() | st.builds(PutBack, st.none() | moments, moments, st.booleans()),
                st.sampled_from([(), (Window(None, ends[0]),), (Window(ends[0], ends[1]), Window(ends[1], None))]),
                last_read=st.none() | st.builds(LastRead, some, texts, moments, texts),
            )
        ),
        identity=draw(
            st.none()
            | st.builds(SourceIdentity.of, st.integers(0, 2**32), st.integers(0, 2**64), system=texts, database=texts)
        ),
        clock=draw(st.none() | moments),
        rows=draw(st.none() | st.integers(0, 10**12)),
        columns=tuple(draw(st.dictionaries(texts, texts, max_size=3)).items()),
        absent=tuple(draw(st.lists(texts, max_size=2))),
    )


@given(states())
def test_a_state_comes_back_as_it_was_written(state: State) -> None:
    text = state.to_json()
    assert state_of(text) == state
    assert "\n" not in text


def test_a_clock_in_another_offset_is_the_same_moment() -> None:
    moment = datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    state = State("app", 1, "batch", Terms(Strategy.UPSERT, ("id",), "at:timestamp"), UNREAD, clock=moment)
    assert state_of(state.to_json()).clock == moment


def test_a_state_of_the_first_version_says_nothing_of_partitions_and_zones() -> None:
    told = placed(LANDED, members=(7, 9), zones=("Asia/Tokyo", "UTC"))
    assert state_of(told.to_json()) == told
    document = json.loads(told.to_json())
    document["terms"].pop("fallback")
    first = {name: value for name, value in before_positions(document, 1).items() if name not in ("members", "zones")}
    assert state_of(json.dumps(first)) == placed(told, members=None, zones=(), settling=None)


def test_numbers_that_wait_in_a_state_of_the_first_version_begin_to_wait_again() -> None:
    """It did not heed a transaction that had begun before the clock was put back."""
    document = before_positions(json.loads(LANDED.to_json()), 1)
    del document["reading"], document["put_back"]
    assert state_of(json.dumps(document)) == placed(LANDED, reading=None, settling=None)


def test_a_state_of_a_later_version_is_refused_rather_than_half_understood() -> None:
    document = json.loads(State("app", 1, "batch", Terms(Strategy.UPSERT, ("id",), ""), UNREAD).to_json())
    with pytest.raises(CheckpointsTooNew, match="upgrade"):
        state_of(json.dumps({**document, "version": VERSION + 1}))


# --- what a reset and a lost log leave ----------------------------------------------------------------


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


LANDED = State(
    app_id="app",
    seq=7,
    batch_id="batch",
    terms=Terms(Strategy.APPEND, (), "id:integer"),
    position=DatabasePosition(
        number(50),
        number(60),
        Settling(number(60), datetime(2024, 1, 31, tzinfo=UTC), 990),
        fingerprint=Fingerprint(number(50), 10, "60", "17"),
        coverage=(Window(None, number(50)),),
    ),
    identity=SourceIdentity.of(1, 1000, system="7001", database="shop"),
    clock=datetime(2024, 1, 31, tzinfo=UTC),
    rows=60,
)


def test_a_reset_forgets_all_that_would_keep_the_next_sync_from_reading_and_remembers_what_an_append_must_not_repeat() -> (
    None
):
    rewound = LANDED.rewound(LANDED.terms, number(20))
    assert rewound == State(
        app_id="app",
        seq=7,
        batch_id="batch",
        terms=LANDED.terms,
        position=DatabasePosition(number(20), number(60), coverage=(Window(None, number(20)),)),
    )


def test_a_reset_to_another_cursor_keeps_no_value_of_the_old_one() -> None:
    terms = replace(LANDED.terms, cursor="updated_at:timestamp")
    assert LANDED.rewound(terms, None) == State("app", 7, "batch", terms, UNREAD)


def test_a_reset_to_the_start_covers_nothing() -> None:
    assert LANDED.rewound(LANDED.terms, None).position.coverage == ()


def test_where_the_lake_no_longer_tells_what_landed_an_append_looks_through_the_whole_table() -> None:
    assert LANDED.forgotten(9) == State("app", 9, "", LANDED.terms, UNREAD, identity=LANDED.identity)


# --- documents of earlier versions ----------------------------------------------------------------------


def before_positions(document: dict[str, object], version: int) -> dict[str, object]:
    """The same document as versions 1 and 2 wrote it: the position's fields among the others."""
    position = document["position"]
    assert isinstance(position, dict)
    others = {name: value for name, value in document.items() if name != "position"}
    return {**others, **position, "version": version}


FIRST = (
    '{"version":1,"app_id":"0b7e7a52","seq":12,"batch_id":"b12","terms":{"strategy":"append","key":[],"cursor":"id:integer"},'
    '"watermark":["integer","41"],"max_cursor_read":["integer","57"],"settling":{"highest":["integer","57"],"clock":"2026-01-05T09:30:00+00:00"},'
    '"fingerprint":{"lower":["integer","41"],"rows":16,"highest":"57","digest":"-8812"},'
    '"identity":{"system":"7300000000000000001","database":"shop","timeline":1,"position":23456789},'
    '"clock":"2026-01-05T09:30:00+00:00","rows":null,"coverage":[[null,["integer","41"]]]}'
)
SECOND = (
    '{"version":2,"app_id":"0b7e7a52","seq":12,"batch_id":"b12","terms":{"strategy":"upsert","key":["id"],"cursor":"at:timestamp","fallback":""},'
    '"watermark":["timestamp","2026-01-05T09:29:58Z"],"max_cursor_read":["timestamp","2026-01-05T09:29:59.5Z"],"settling":null,'
    '"fingerprint":{"lower":["timestamp","2026-01-05T09:29:58Z"],"rows":2,"highest":"2026-01-05 09:29:59.5+00","digest":"-8812",'
    '"started":"2026-01-01T00:00:00+00:00"},"identity":{"system":"7300000000000000001","database":"shop","timeline":1,"position":23456789},'
    '"clock":"2026-01-05T09:30:00+00:00","reading":{"source":"2026-01-05T09:30:00+00:00","oldest":null,"host":null},"put_back":null,'
    '"due":["timestamp","2026-02-01T00:00:00Z"],"rows":null,"coverage":[[null,["timestamp","2026-01-05T09:29:58Z"]]],"members":[16402],'
    '"zones":["UTC"],"columns":{"id":"16402.1","at":"16402.2"},"absent":["old"],'
    '"last_read":{"lower":["timestamp","2026-01-05T09:29:58Z"],"visible":"750:750:","started":"2026-01-01T00:00:00+00:00","shape":"5f0a"}}'
)

THIRD = (
    '{"version":3,"app_id":"0b7e7a52","seq":12,"batch_id":"b12","terms":{"strategy":"upsert","key":["id"],"cursor":"at:timestamp","fallback":""},'
    '"position":{"watermark":["timestamp","2026-01-05T09:29:58Z"],"max_cursor_read":["timestamp","2026-01-05T09:29:59.5Z"],'
    '"settling":{"highest":["timestamp","2026-01-05T09:29:59.5Z"],"clock":"2026-01-05T09:30:00+00:00","written":990},'
    '"due":["timestamp","2026-02-01T00:00:00Z"]},'
    '"fingerprint":{"lower":["timestamp","2026-01-05T09:29:58Z"],"rows":2,"highest":"2026-01-05 09:29:59.5+00","digest":"-8812",'
    '"started":"2026-01-01T00:00:00+00:00"},'
    '"identity":{"names":{"system":"7300000000000000001","database":"shop"},"timeline":1,"position":23456789},'
    '"clock":"2026-01-05T09:30:00+00:00","reading":{"source":"2026-01-05T09:30:00+00:00","oldest":"2026-01-05T09:30:00+00:00",'
    '"host":{"boot":"boot","uptime":5.0,"wall":7.0,"took":0.25}},'
    '"put_back":{"low":"2026-01-05T09:29:00+00:00","high":"2026-01-05T09:30:00+00:00","proven":true},"rows":null,'
    '"coverage":[[null,["timestamp","2026-01-05T09:29:58Z"]]],"members":[16402,16500],"zones":["UTC","Asia/Tokyo"],'
    '"columns":{"id":"16402.1","at":"16402.2"},"absent":["old"],"discarded":["secret"],'
    '"changed":[{"column":"b","change":"widened","before":"int","after":"bigint","rule":"widen"}],'
    '"last_read":{"lower":["timestamp","2026-01-05T09:29:58Z"],"visible":"750:750:","started":"2026-01-01T00:00:00+00:00","shape":"5f0a"},'
    '"compared":{"clock":"2026-01-05T09:30:00+00:00","storage":[[1,16402]]},'
    '"unfilled":{"columns":["b"],"below":["timestamp","2026-01-05T09:29:58Z"],"reached":null},"definition":{"files":"17"},'
    '"stamps":{"cuts":[["hour",true]],"within":30.0,"marks":"17","proven":false,"exceeded":20.0},"updates":7}'
)


def stamp(text: str) -> CursorValue:
    return CursorValue(CursorType.TIMESTAMP, text)


def test_a_stored_state_of_the_first_version_goes_on_where_it_was() -> None:
    state = state_of(FIRST)
    assert (state.position.watermark, state.position.max_cursor_read) == (number(41), number(57))
    assert position_of(state).settling is None
    assert (state.app_id, state.seq, state.terms.cursor, state.position.coverage) == (
        "0b7e7a52",
        12,
        "id:integer",
        (Window(None, number(41)),),
    )
    assert state_of(state.to_json()) == state


def test_a_stored_state_of_the_second_version_goes_on_where_it_was() -> None:
    state = state_of(SECOND)
    position = position_of(state)
    assert (position.watermark, position.max_cursor_read, position.settling, position.due) == (
        stamp("2026-01-05T09:29:58Z"),
        stamp("2026-01-05T09:29:59.5Z"),
        None,
        stamp("2026-02-01T00:00:00Z"),
    )
    assert (position.members, state.absent) == ((16402,), ("old",))
    assert position.last_read is not None
    assert state_of(state.to_json()) == state


def test_numbers_that_wait_in_a_stored_state_of_the_second_version_wait_on() -> None:
    document = json.loads(FIRST) | {"version": 2}
    document["settling"]["written"] = 990
    assert position_of(state_of(json.dumps(document))).settling == Settling(
        number(57), datetime(2026, 1, 5, 9, 30, tzinfo=UTC), 990
    )


def test_a_stored_state_of_the_third_version_goes_on_where_it_was_and_is_written_so_that_its_release_reads_it() -> None:
    state = state_of(THIRD)
    noon = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
    assert state == State(
        app_id="0b7e7a52",
        seq=12,
        batch_id="b12",
        terms=Terms(Strategy.UPSERT, ("id",), "at:timestamp", ""),
        position=DatabasePosition(
            watermark=stamp("2026-01-05T09:29:58Z"),
            max_cursor_read=stamp("2026-01-05T09:29:59.5Z"),
            settling=Settling(stamp("2026-01-05T09:29:59.5Z"), noon, 990),
            due=stamp("2026-02-01T00:00:00Z"),
            fingerprint=Fingerprint(
                stamp("2026-01-05T09:29:58Z"), 2, "2026-01-05 09:29:59.5+00", "-8812", datetime(2026, 1, 1, tzinfo=UTC)
            ),
            reading=ClockReading(noon, noon, HostClock("boot", 5.0, 7.0, 0.25)),
            put_back=PutBack(noon - timedelta(minutes=1), noon, proven=True),
            coverage=(Window(None, stamp("2026-01-05T09:29:58Z")),),
            members=(16402, 16500),
            zones=("UTC", "Asia/Tokyo"),
            last_read=LastRead(stamp("2026-01-05T09:29:58Z"), "750:750:", datetime(2026, 1, 1, tzinfo=UTC), "5f0a"),
            stamps=StampsSeen(
                (Cut(Unit.HOUR),), timedelta(seconds=30), "17", proven=False, exceeded=timedelta(seconds=20)
            ),
            updates=7,
        ),
        identity=SourceIdentity.of(1, 23456789, system="7300000000000000001", database="shop"),
        clock=noon,
        columns=(("id", "16402.1"), ("at", "16402.2")),
        absent=("old",),
        discarded=("secret",),
        changed=(SchemaChange("b", Change.WIDENED, "int", "bigint", "widen"),),
        compared=KeysCompared(noon, ((1, 16402),)),
        unfilled=Unfilled(("b",), stamp("2026-01-05T09:29:58Z"), None),
        definition=(("files", "17"),),
    )
    document = json.loads(THIRD)
    document["terms"]["collation"] = None
    assert json.loads(state.to_json()) == document
