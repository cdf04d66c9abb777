"""Where in a lake copies of a table lay before: by what the Delta tables of the lake say of themselves, and what the checkpoint database knows of them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from incremental_assets.adapters.delta.log.transaction_log import APP_ID
from incremental_assets.adapters.erasure.former import Former, former_places
from incremental_assets.adapters.erasure.prover import Grounds, examine
from incremental_assets.adapters.lake_store.local import LocalStore
from incremental_assets.core.model.erasure import Holds, Place
from incremental_assets.core.model.subject import Subject
from incremental_assets.core.model.table_id import TableId

PEOPLE, OTHERS = TableId("shop", "public", "people"), TableId("shop", "public", "others")
MADE = {PEOPLE: {"people's"}, OTHERS: {"others'"}}


def made(folder: Path, place: str, app_id: str | None, key: str = "id") -> str:
    rows = pa.table({key: [900001, 7]})
    write_deltalake(f"{folder}/{place}", rows)
    (log,) = Path(folder, place, "_delta_log").glob("*.json")
    # delta-rs writes none but Delta's own properties.
    mark = json.dumps({APP_ID: app_id} if app_id else {})
    log.write_text(log.read_text().replace('"configuration":{}', f'"configuration":{mark}'))
    return f"{folder}/{place}"


def found(folder: Path) -> Former:
    return former_places(LocalStore(), str(folder), PEOPLE, MADE)


def test_a_copy_of_the_table_in_another_place_is_one_that_it_had_before(tmp_path: Path) -> None:
    made(tmp_path, "shop/public/people", "people's")
    made(tmp_path, "silver/others", "others'")
    made(tmp_path, "somebody/s", None)
    before = made(tmp_path, "gold/deep/down", "people's")
    assert found(tmp_path) == Former(copies=(before,))


def test_where_the_copy_of_another_table_lies_now_nothing_is_rewritten(tmp_path: Path) -> None:
    place = made(tmp_path, "shop/public/others", "people's")
    assert found(tmp_path) == Former(others={place: OTHERS})


def test_a_copy_that_no_table_is_known_to_have_made_and_one_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    lost = made(tmp_path, "bronze/x", "of a checkpoint database that was lost")
    broken = tmp_path / "broken/_delta_log/00000000000000000000.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("no log\n")
    first, second = found(tmp_path).unclear
    assert first.startswith(f"{tmp_path}/broken")
    assert second == (
        f"{lost}: a copy that no table of the checkpoint database has made; where the rows of this table lay there, remove that folder"
    )


def test_a_copy_of_before_that_had_the_names_of_the_source_is_searched_by_these(tmp_path: Path) -> None:
    made(tmp_path, "gold/people", "people's", key="personNo")
    grounds = Grounds(
        str(tmp_path), PEOPLE, "sqlite:////none.db", tmp_path / "home", "", {"person_no": "personNo"}, found(tmp_path)
    )
    left = examine(grounds, (Subject((("person_no", "900001"),)),)).left
    assert {(each.place, Holds.ROW in each.how) for each in left if each.place is Place.FORMER} == {
        (Place.FORMER, True)
    }


def test_a_copy_of_before_without_the_columns_of_the_key_is_not_known_to_hold_nothing(tmp_path: Path) -> None:
    place = made(tmp_path, "gold/people", "people's", key="number")
    grounds = Grounds(str(tmp_path), PEOPLE, "sqlite:////none.db", tmp_path / "home", former=found(tmp_path))
    left = examine(grounds, (Subject((("id", "900001"),)),)).left
    assert [(each.place, each.where, each.how) for each in left] == [(Place.FORMER, place, (Holds.UNREADABLE,))]
