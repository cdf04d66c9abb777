"""Keys of deleted rows as they are kept: of any types, and of columns that have become wider since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from incremental_assets.adapters.topics.tombstones import Tombstones
from tests.adapters.topics.tables import table, topic

SPEC = table(topic(id="int", day="date as days", name="string", key=("id", "day", "name")))
DAY = 19_782


def test_keys_of_several_columns_are_known_again_and_others_are_not(tmp_path: Path) -> None:
    kept = Tombstones(str(tmp_path / "kept"), SPEC)
    assert kept.places({(1, DAY, "a")}) == {}
    kept.add({(1, DAY, "a"): 10, (2, DAY, "a"): 20})
    kept.add({(1, DAY, "a"): 30})
    assert kept.places({(1, DAY, "a"), (1, DAY + 1, "a"), (1, DAY, "b"), (2, DAY, "a")}) == {
        (1, DAY, "a"): 30,
        (2, DAY, "a"): 20,
    }


def test_a_key_that_was_narrower_when_it_was_deleted_is_known_again(tmp_path: Path) -> None:
    Tombstones(str(tmp_path), SPEC).add({(1, DAY, "a"): 10})
    wide = [replace(each, spark_type="bigint") if each.name == "id" else each for each in SPEC.columns]
    later = Tombstones(str(tmp_path), replace(SPEC, shape=replace(SPEC.shape, columns=tuple(wide))))
    assert later.places({(1, DAY, "a"), (2**40, DAY, "a")}) == {(1, DAY, "a"): 10}
