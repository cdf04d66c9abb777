"""The resumable state: one JSON document that comes back as it was, to the microsecond and beyond 64 bits."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.errors import CheckpointsTooNew
from incremental_assets.core.model.clock_reading import ClockReading, HostClock, PutBack
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint, LastRead
from incremental_assets.core.model.position import Position, Settling
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import VERSION, State
from incremental_assets.core.model.table import Strategy, Terms
from incremental_assets.core.model.window import Window

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
                Position,
                some,
                some,
                st.none() | st.builds(Settling, values, moments, st.none() | st.integers(0, 2**64)),
                some,
            )
        ),
        fingerprint=draw(st.none() | st.builds(Fingerprint, some, st.integers(0, 10**12), st.none() | texts, texts)),
        identity=draw(
            st.none()
            | st.builds(SourceIdentity.of, st.integers(0, 2**32), st.integers(0, 2**64), system=texts, database=texts)
        ),
        clock=draw(st.none() | moments),
        reading=draw(st.none() | st.builds(ClockReading, moments, st.none() | moments, st.none() | hosts)),
        put_back=draw(st.none() | st.builds(PutBack, st.none() | moments, moments, st.booleans())),
        rows=draw(st.none() | st.integers(0, 10**12)),
        coverage=draw(
            st.sampled_from([(), (Window(None, ends[0]),), (Window(ends[0], ends[1]), Window(ends[1], None))])
        ),
        columns=tuple(draw(st.dictionaries(texts, texts, max_size=3)).items()),
        absent=tuple(draw(st.lists(texts, max_size=2))),
        last_read=draw(st.none() | st.builds(LastRead, some, texts, moments, texts)),
    )


@given(states())
def test_a_state_comes_back_as_it_was_written(state: State) -> None:
    text = state.to_json()
    assert State.from_json(text) == state
    assert "\n" not in text


def test_a_clock_in_another_offset_is_the_same_moment() -> None:
    moment = datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    state = State("app", 1, "batch", Terms(Strategy.UPSERT, ("id",), "at:timestamp"), clock=moment)
    assert State.from_json(state.to_json()).clock == moment


def test_a_state_of_the_first_version_says_nothing_of_partitions_and_zones() -> None:
    told = replace(LANDED, members=(7, 9), zones=("Asia/Tokyo", "UTC"))
    assert State.from_json(told.to_json()) == told
    document = json.loads(told.to_json())
    document["terms"].pop("fallback")
    first = {name: value for name, value in before_positions(document, 1).items() if name not in ("members", "zones")}
    assert State.from_json(json.dumps(first)) == replace(told, members=None, zones=(), position=UNSETTLED)


def test_numbers_that_wait_in_a_state_of_the_first_version_begin_to_wait_again() -> None:
    """It did not heed a transaction that had begun before the clock was put back."""
    document = before_positions(json.loads(LANDED.to_json()), 1)
    del document["reading"], document["put_back"]
    assert State.from_json(json.dumps(document)) == replace(LANDED, position=UNSETTLED)


def test_a_state_of_a_later_version_is_refused_rather_than_half_understood() -> None:
    document = json.loads(State("app", 1, "batch", Terms(Strategy.UPSERT, ("id",), "")).to_json())
    with pytest.raises(CheckpointsTooNew, match="upgrade"):
        State.from_json(json.dumps({**document, "version": VERSION + 1}))


# --- what a reset and a lost log leave ----------------------------------------------------------------


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


LANDED = State(
    app_id="app",
    seq=7,
    batch_id="batch",
    terms=Terms(Strategy.APPEND, (), "id:integer"),
    position=Position(number(50), number(60), Settling(number(60), datetime(2024, 1, 31, tzinfo=UTC), 990)),
    fingerprint=Fingerprint(number(50), 10, "60", "17"),
    identity=SourceIdentity.of(1, 1000, system="7001", database="shop"),
    clock=datetime(2024, 1, 31, tzinfo=UTC),
    rows=60,
    coverage=(Window(None, number(50)),),
)
UNSETTLED = Position(number(50), number(60))
"""The same without the numbers that wait."""


def test_a_reset_forgets_all_that_would_keep_the_next_sync_from_reading_and_remembers_what_an_append_must_not_repeat() -> (
    None
):
    rewound = LANDED.rewound(LANDED.terms, number(20))
    assert rewound == State(
        app_id="app",
        seq=7,
        batch_id="batch",
        terms=LANDED.terms,
        position=Position(number(20), number(60)),
        coverage=(Window(None, number(20)),),
    )


def test_a_reset_to_another_cursor_keeps_no_value_of_the_old_one() -> None:
    terms = replace(LANDED.terms, cursor="updated_at:timestamp")
    assert LANDED.rewound(terms, None) == State("app", 7, "batch", terms)


def test_a_reset_to_the_start_covers_nothing() -> None:
    assert LANDED.rewound(LANDED.terms, None).coverage == ()


def test_where_the_lake_no_longer_tells_what_landed_an_append_looks_through_the_whole_table() -> None:
    assert LANDED.forgotten(9) == State("app", 9, "", LANDED.terms, identity=LANDED.identity)


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


def stamp(text: str) -> CursorValue:
    return CursorValue(CursorType.TIMESTAMP, text)


def test_a_stored_state_of_the_first_version_goes_on_where_it_was() -> None:
    state = State.from_json(FIRST)
    assert state.position == Position(number(41), number(57))
    assert (state.app_id, state.seq, state.terms.cursor, state.coverage) == (
        "0b7e7a52",
        12,
        "id:integer",
        (Window(None, number(41)),),
    )
    assert State.from_json(state.to_json()) == state


def test_a_stored_state_of_the_second_version_goes_on_where_it_was() -> None:
    state = State.from_json(SECOND)
    assert state.position == Position(
        stamp("2026-01-05T09:29:58Z"), stamp("2026-01-05T09:29:59.5Z"), None, stamp("2026-02-01T00:00:00Z")
    )
    assert (state.members, state.absent) == ((16402,), ("old",))
    assert state.last_read is not None
    assert State.from_json(state.to_json()) == state


def test_numbers_that_wait_in_a_stored_state_of_the_second_version_wait_on() -> None:
    document = json.loads(FIRST) | {"version": 2}
    document["settling"]["written"] = 990
    assert State.from_json(json.dumps(document)).position.settling == Settling(
        number(57), datetime(2026, 1, 5, 9, 30, tzinfo=UTC), 990
    )
