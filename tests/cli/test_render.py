"""How answers look: whole in a pipe, within the width of a terminal, and never moving its cursor."""

from __future__ import annotations

import io

import pytest

from incremental_assets.cli.answer import Answer, Cell, Grid, Note
from incremental_assets.cli.render import plain_lines, show
from incremental_assets.cli.reports import short

GRID = Grid(
    columns=("table", "status", "read", "late", "guarantee", "watermark"),
    rows=tuple(
        (
            f"tpch.public.a_rather_long_name_{number}",
            Cell("landed", "good"),
            f"{number:,}",
            "",
            "settled",
            "2026-11-21 14:47:15",
        )
        for number in (7, 86_805)
    ),
    right=frozenset({"read"}),
    spare=("guarantee", "watermark"),
)


def test_a_pipe_gets_every_column_aligned_and_uncut() -> None:
    lines = list(plain_lines(Answer({}, (GRID, Note("synced 2 tables", "strong")))))

    assert lines == [
        "table                                 status    read  late  guarantee  watermark",
        "tpch.public.a_rather_long_name_7      landed       7        settled    2026-11-21 14:47:15",
        "tpch.public.a_rather_long_name_86805  landed  86,805        settled    2026-11-21 14:47:15",
        "synced 2 tables",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_is_never_too_narrow(width: int) -> None:
    out = io.StringIO()

    show(Answer({}, (GRID,)), out, width=width)

    text = _plain(out.getvalue())
    assert max(map(len, text.splitlines())) <= width
    assert "tpch.public.a_rather_long_name_86805" in text
    assert "86,805" in text
    assert "late" not in text  # nothing to say
    assert ("2026-11-21 14:47:15" in text) == (width == 120)


def test_what_a_narrow_terminal_leaves_out_is_named_below_with_the_ways_to_see_it() -> None:
    narrow, wide = io.StringIO(), io.StringIO()
    show(Answer({}, (GRID,)), narrow, width=60)
    show(Answer({}, (GRID,)), wide, width=120)

    told = " ".join(_plain(narrow.getvalue()).split())
    assert told.endswith("no room for guarantee, watermark: a wider terminal, a pipe or --json shows them")
    assert "no room" not in _plain(wide.getvalue())


def test_a_column_that_says_nothing_is_not_named_as_left_out() -> None:
    out = io.StringIO()
    empty = Grid(("table", "guarantee", "lease"), (("t" * 60, "settled", ""),), spare=("guarantee", "lease"))
    show(Answer({}, (empty,)), out, width=45)
    assert "no room for guarantee:" in " ".join(_plain(out.getvalue()).split())


LONG = "shop.public.a_table_of_sixty_three_characters_which_is_as_long_as_any"
FINDINGS = Grid(
    ("", "of", "what", "found"),
    (
        (
            Cell("warn", "warn"),
            f"{LONG}, shop.public.orders and 3 others",
            "lateness",
            "half were committed within 104d 4h of their stamp",
        ),
        ("ok", "machine", "java", "version 17"),
    ),
    prose=("of", "found"),
)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_what_a_finding_says_is_folded_and_never_cut_or_left_out(width: int) -> None:
    out = io.StringIO()
    show(Answer({}, (FINDINGS,)), out, width=width)

    text = _plain(out.getvalue())
    assert max(map(len, text.splitlines())) <= width
    assert "no room" not in text
    assert "…" not in text
    assert sorted("".join(text.replace("─", "").split())) == sorted(
        "".join(
            "".join(each if isinstance(each, str) else each.text for each in row)
            for row in (FINDINGS.columns, *FINDINGS.rows)
        ).replace(" ", "")
    )


def test_one_long_name_does_not_take_the_room_of_what_is_said_of_the_others() -> None:
    out = io.StringIO()
    rows = ((LONG, "landed", "60,000", "settled within 15m"), ("shop.public.orders", "landed", "1", "settled"))
    show(Answer({}, (Grid(("table", "status", "read", "guarantee"), rows, spare=("guarantee",)),)), out, width=80)

    text = _plain(out.getvalue())
    assert "no room" not in text
    assert "settled within 15m" in text
    assert next(line for line in text.splitlines() if "orders" in line).split() == [
        "shop.public.orders",
        "landed",
        "1",
        "settled",
    ]


def test_a_sentence_that_holds_for_many_tables_is_read_once() -> None:
    refused = Note("the password is refused", "bad")
    answer = Answer({}, (GRID, refused, refused, Note("failed: 2 tables", "strong")))
    out = io.StringIO()
    show(answer, out, width=120)

    assert list(plain_lines(answer))[-2:] == ["the password is refused", "failed: 2 tables"]
    assert out.getvalue().count("the password is refused") == 1


def test_names_cannot_move_the_cursor_or_change_a_colour() -> None:
    lines = list(plain_lines(Answer({}, (Grid(("table",), (("a\x1b[31mb\r[bold]c",),)),))))

    assert lines[1] == "a\\x1b[31mb\\r[bold]c"


def test_names_are_no_markup_on_a_terminal() -> None:
    out = io.StringIO()

    show(Answer({}, (Grid(("table",), (("[bold]x[/bold] :smile:",),)), Note("[red]y"))), out, width=80)

    assert "[bold]x[/bold] :smile:" in _plain(out.getvalue())
    assert "[red]y" in _plain(out.getvalue())


def _plain(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize(
    ("watermark", "shown"),
    [
        (None, ""),
        (990, "990"),
        ("2026-11-30", "2026-11-30"),
        ("2026-11-30T04:01:16.896657Z", "2026-11-30 04:01:16Z"),
        ("2026-11-30T04:01:16Z", "2026-11-30 04:01:16Z"),
        ("2026-11-30T04:01:16.49976", "2026-11-30 04:01:16"),
    ],
)
def test_a_watermark_in_utc_keeps_its_zone_with_and_without_a_fraction(watermark: object, shown: str) -> None:
    assert short(watermark) == shown
