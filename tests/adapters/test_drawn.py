"""How far a sequence has come is asked behind the highest number: one that a row has brought itself holds the watermark below it."""

from __future__ import annotations

import pytest

from incremental_assets.core.captures.database.settled_bound import settle, within_drawn
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor
from tests.adapters.source import READER, Source, observe

KINDS = {"serial": "id bigserial PRIMARY KEY", "identity": "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_brought_its_number_holds_the_watermark_where_the_sequence_is(source: Source, kind: str) -> None:
    source.execute(
        f'CREATE TABLE "Tic kets" ({KINDS[kind]}, note text)',
        f'GRANT SELECT ON "Tic kets" TO {READER}',
        f"GRANT pg_read_all_stats TO {READER}",
        "INSERT INTO \"Tic kets\" (note) VALUES ('a'), ('b')",
    )
    number = Cursor("id", CursorType.INTEGER)

    def seen() -> tuple[int | None, Guarantee]:
        probe = source.open(READER)
        spec = source.spec("Tic kets", number, user=READER, key=("id",), key_enforced=True)
        found = observe(probe, spec)
        settled = settle(spec, number, found.bound, found.highest, None)
        return found.drawn, within_drawn(spec, found.highest, found.drawn, settled).guarantee

    assert seen() == (None, Guarantee.BEST_EFFORT), "the sequence is not shown to this user"
    source.execute(f"GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA public TO {READER}")
    assert seen() == (2, Guarantee.SETTLED)
    source.execute("INSERT INTO \"Tic kets\" OVERRIDING SYSTEM VALUE VALUES (1000000, 'stands for none')")
    assert seen() == (2, Guarantee.BEST_EFFORT)
    source.execute("SELECT setval('\"Tic kets_id_seq\"', 1000000)")
    assert seen() == (1000000, Guarantee.SETTLED)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("done", "drawn", "promised"),
    [
        ("", 0, Guarantee.BEST_EFFORT),
        ("SELECT setval('\"Tic kets_id_seq\"', 8, false)", 7, Guarantee.SETTLED),
        ('ALTER SEQUENCE "Tic kets_id_seq" RESTART WITH 7', 6, Guarantee.BEST_EFFORT),
        ("SELECT setval('\"Tic kets_id_seq\"', 7)", 7, Guarantee.SETTLED),
    ],
)
def test_a_sequence_that_has_drawn_nothing_is_below_rows_that_were_imported(
    source: Source, kind: str, done: str, drawn: int, promised: Guarantee
) -> None:
    source.execute(
        f'CREATE TABLE "Tic kets" ({KINDS[kind]}, note text)',
        f'GRANT SELECT ON "Tic kets" TO {READER}',
        f'GRANT SELECT ON SEQUENCE "Tic kets_id_seq" TO {READER}',
        f"GRANT pg_read_all_stats TO {READER}",
        "INSERT INTO \"Tic kets\" OVERRIDING SYSTEM VALUE VALUES (7, 'imported')",
        *filter(None, (done,)),
    )
    number = Cursor("id", CursorType.INTEGER)
    spec = source.spec("Tic kets", number, user=READER, key=("id",), key_enforced=True)
    found = observe(source.open(READER), spec)
    settled = settle(spec, number, found.bound, found.highest, None)
    assert (found.drawn, within_drawn(spec, found.highest, found.drawn, settled).guarantee) == (drawn, promised)


def test_a_sequence_in_a_schema_that_is_not_granted_is_seen_as_far_as_it_has_drawn(source: Source) -> None:
    source.execute(
        "CREATE SCHEMA hidden",
        "CREATE SEQUENCE hidden.numbers",
        "CREATE TABLE tickets (id bigint PRIMARY KEY DEFAULT nextval('hidden.numbers'))",
        f"GRANT SELECT ON tickets TO {READER}",
        f"GRANT SELECT ON SEQUENCE hidden.numbers TO {READER}",
        f"GRANT pg_read_all_stats TO {READER}",
    )
    probe = source.open(READER)
    spec = source.spec("tickets", Cursor("id", CursorType.INTEGER), user=READER, key=("id",), key_enforced=True)
    assert observe(probe, spec).drawn == 0
    source.execute("INSERT INTO tickets DEFAULT VALUES")
    assert observe(probe, spec).drawn == 1
