"""The LakeXpress shorthand, whole: every example of its page, awkward names, and a cure for each slip."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from incremental_assets.core.config.scalars import ShorthandText
from incremental_assets.core.config.shorthand import Direction, Shorthand, parse
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.identifiers import quote, render_table
from incremental_assets.core.model.table import Strategy

EXCLUDE, APPEND, UPSERT = Direction.EXCLUDE, Strategy.APPEND, Strategy.UPSERT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sales.orders:created_date:date", ("sales", "orders", "created_date", "date", "i", None, APPEND)),
        ("sales.orders:created_date:date:i", ("sales", "orders", "created_date", "date", "i", None, APPEND)),
        ("sales.returns:return_date:date:e", ("sales", "returns", "return_date", "date", "e", None, APPEND)),
        (
            "sales.orders:created_date:date@2025-01-01",
            ("sales", "orders", "created_date", "date", "i", "2025-01-01", APPEND),
        ),
        ("sales.orders:created_date:date!upsert", ("sales", "orders", "created_date", "date", "i", None, UPSERT)),
        (
            "sales.orders:created_date:date:i@2025-01-01!upsert",
            ("sales", "orders", "created_date", "date", "i", "2025-01-01", UPSERT),
        ),
        (
            "events.pageviews:event_time:timestamp!append",
            ("events", "pageviews", "event_time", "timestamp", "i", None, APPEND),
        ),
        ("sales.orders:updated_at:datetime!upsert", ("sales", "orders", "updated_at", "datetime", "i", None, UPSERT)),
        ("sales.orders:order_id:integer@1000001", ("sales", "orders", "order_id", "integer", "i", "1000001", APPEND)),
    ],
)
def test_the_examples_of_the_page_are_read(text: str, expected: tuple[str, ...]) -> None:
    read = parse(text)
    start = None if read.start is None else read.start.text
    assert (read.schema, read.name, read.column, read.type, read.direction, start, read.strategy) == expected


def test_a_start_may_hold_colons_and_a_zone() -> None:
    assert parse("a.b:c:timestamp@2025-01-08T14:30:25+02:00!upsert").start == CursorValue(
        CursorType.TIMESTAMP, "2025-01-08T12:30:25Z"
    )
    assert parse("a.b:c:datetime@2025-01-08 14:30:25").start == CursorValue(CursorType.DATETIME, "2025-01-08T14:30:25")


def test_a_day_will_do_as_the_start_of_a_timestamp() -> None:
    assert parse("a.b:c:timestamp@2025-01-01").start == CursorValue(CursorType.TIMESTAMP, "2025-01-01T00:00:00Z")


def test_names_are_quoted_as_in_sql() -> None:
    read = parse('public."a.b:c@d!e""f":"x:y":date:e')
    assert (read.schema, read.name, read.column, read.direction) == ("public", 'a.b:c@d!e"f', "x:y", EXCLUDE)


def test_an_unquoted_name_keeps_its_spelling() -> None:
    read = parse("Ünï.Order Lines:Updated At:integer")
    assert (read.schema, read.name, read.column) == ("Ünï", "Order Lines", "Updated At")


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("", "schema.table"),
        ("orders:updated_at:timestamp", "schema.table"),
        ("a.b.c:d:date", "cursor column is missing"),
        ('public."orders:updated_at:date', "schema.table"),
        ('public."":x:date', "schema.table"),
        ("public.orders", "cursor column is missing"),
        ("public.orders:updated_at", "type of the cursor is missing"),
        ("public.orders::date", "schema.table"),
        ("public.orders:updated_at:timestmp", "did you mean `timestamp`"),
        ("public.orders:updated_at:Date", "the type is one of date, datetime, timestamp, integer"),
        ("public.orders:updated_at:date:x", "the direction is one of i, e"),
        ("public.orders:updated_at:date!upsrt", "did you mean `upsert`"),
        ("public.orders:updated_at:date!full_refresh", "strategy: full_refresh"),
        ("public.orders:updated_at:date!upsert@2025-01-01", "the strategy is one of append, upsert"),
        ("public.orders:updated_at:date@", "is not a date"),
        ("public.orders:updated_at:date@2025-02-30", "day is out of range"),
        ("public.orders:updated_at:date@2025-01-01T10:00:00", "has a time of day"),
        ("public.orders:updated_at:datetime@2025-01-01T10:00:00Z", "has a zone"),
        ("public.orders:id:integer@2025-01-01", "not a whole number"),
        ("public.orders:updated_at:date@infinity", "finite"),
    ],
)
def test_a_slip_is_refused_with_its_cure(text: str, cure: str) -> None:
    with pytest.raises(ValueError, match=cure.replace(".", r"\.")):
        parse(text)


names = st.text(st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",)), min_size=1, max_size=12)
starts = {
    CursorType.DATE: st.dates().map(str),
    CursorType.DATETIME: st.datetimes().map(str),
    CursorType.TIMESTAMP: st.datetimes().map(lambda moment: f"{moment}Z"),
    CursorType.INTEGER: st.integers(-(10**18), 10**18).map(str),
}


@st.composite
def shorthands(draw: st.DrawFn) -> Shorthand:
    kind = draw(st.sampled_from(CursorType))
    start = draw(st.none() | starts[kind])
    return Shorthand(
        schema=draw(names),
        name=draw(names),
        column=draw(names),
        type=kind,
        direction=draw(st.sampled_from(Direction)),
        start=None if start is None else CursorValue.parse(kind, start),
        strategy=draw(st.sampled_from([APPEND, UPSERT])),
    )


def render(shorthand: Shorthand) -> str:
    """The shortest text that `parse` reads back as this value."""
    direction = "" if shorthand.direction is Direction.INCLUDE else f":{shorthand.direction}"
    start = "" if shorthand.start is None else f"@{shorthand.start}"
    strategy = "" if shorthand.strategy is Strategy.APPEND else f"!{shorthand.strategy}"
    table = render_table(shorthand.schema, shorthand.name)
    return f"{table}:{quote(shorthand.column)}:{shorthand.type}{direction}{start}{strategy}"


@given(shorthands())
def test_whatever_is_rendered_is_read_back(shorthand: Shorthand) -> None:
    assert parse(render(shorthand)) == shorthand


@given(st.text('ab.:"@! \n2025-1ie', max_size=30))
def test_any_text_is_read_or_refused_and_never_breaks(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse(render(parse(text))) == parse(text)


@pytest.mark.parametrize("strategy", Strategy)
def test_an_editor_takes_the_strategies_that_are_read(strategy: Strategy) -> None:
    text = f"a.b:c:date!{strategy}"
    read = None
    with contextlib.suppress(ValueError):
        read = parse(text)
    pattern = TypeAdapter(ShorthandText).json_schema()["pattern"]
    assert bool(re.fullmatch(pattern, text)) is (read is not None)
