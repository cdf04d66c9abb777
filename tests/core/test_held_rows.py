"""What is said of rows that a contract holds."""

from __future__ import annotations

from datetime import UTC, datetime

from incremental_assets.core.model.quarantine import HeldRows


def test_a_key_whose_row_was_held_unchanged_is_not_said_to_be_shown_in_an_older_version() -> None:
    noon = datetime(2026, 11, 26, 12, tzinfo=UTC)
    held = HeldRows(10_803, (("total: ge 0", 10_803),), noon, 10_803, noon)
    assert held.sentence == (
        "10,803 rows are held in quarantine, since 2026-11-26 12:00Z: total: ge 0 (10,803); of 10,803 keys the copy shows what had landed before, "
        "an earlier version or the same one, since 2026-11-26 12:00Z"
    )
