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
        spec = source.spec("Tic kets", number, key=("id",), key_enforced=True)
        found = observe(probe, spec)
        settled = settle(spec, number, found.bound, found.highest, None)
        return found.drawn, within_drawn(spec, found.highest, found.drawn, settled).guarantee

    assert seen() == (None, Guarantee.SETTLED), "the sequence is not shown to this user"
    source.execute(f"GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA public TO {READER}")
    assert seen() == (2, Guarantee.SETTLED)
    source.execute("INSERT INTO \"Tic kets\" OVERRIDING SYSTEM VALUE VALUES (1000000, 'stands for none')")
    assert seen() == (2, Guarantee.BEST_EFFORT)
    source.execute("SELECT setval('\"Tic kets_id_seq\"', 1000000)")
    assert seen() == (1000000, Guarantee.SETTLED)
