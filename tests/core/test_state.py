"""The resumable state: one JSON document that comes back as it was, to the microsecond and beyond 64 bits."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.errors import CheckpointsTooNew
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.state import (
    VERSION,
    ClockReading,
    Fingerprint,
    HostClock,
    Identity,
    LastRead,
    PutBack,
    Settling,
    State,
)
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
        watermark=draw(some),
        max_cursor_read=draw(some),
        settling=draw(st.none() | st.builds(Settling, values, moments)),
        fingerprint=draw(st.none() | st.builds(Fingerprint, some, st.integers(0, 10**12), st.none() | texts, texts)),
        identity=draw(st.none() | st.builds(Identity, texts, texts, st.integers(0, 2**32), st.integers(0, 2**64))),
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
    first = {name: value for name, value in document.items() if name not in ("members", "zones")} | {"version": 1}
    assert State.from_json(json.dumps(first)) == replace(told, members=None, zones=(), settling=None)


def test_numbers_that_wait_in_a_state_of_the_first_version_begin_to_wait_again() -> None:
    """It did not heed a transaction that had begun before the clock was put back."""
    document = {**json.loads(LANDED.to_json()), "version": 1}
    del document["reading"], document["put_back"]
    assert State.from_json(json.dumps(document)) == replace(LANDED, settling=None)


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
    watermark=number(50),
    max_cursor_read=number(60),
    settling=Settling(number(60), datetime(2024, 1, 31, tzinfo=UTC), 990),
    fingerprint=Fingerprint(number(50), 10, "60", "17"),
    identity=Identity("7001", "shop", 1, 1000),
    clock=datetime(2024, 1, 31, tzinfo=UTC),
    rows=60,
    coverage=(Window(None, number(50)),),
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
        watermark=number(20),
        max_cursor_read=number(60),
        coverage=(Window(None, number(20)),),
    )


def test_a_reset_to_another_cursor_keeps_no_value_of_the_old_one() -> None:
    terms = replace(LANDED.terms, cursor="updated_at:timestamp")
    assert LANDED.rewound(terms, None) == State("app", 7, "batch", terms)


def test_a_reset_to_the_start_covers_nothing() -> None:
    assert LANDED.rewound(LANDED.terms, None).coverage == ()


def test_where_the_lake_no_longer_tells_what_landed_an_append_looks_through_the_whole_table() -> None:
    assert LANDED.forgotten(9) == State("app", 9, "", LANDED.terms, identity=LANDED.identity)
