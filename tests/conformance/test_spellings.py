"""T14: keys that are one key to the source, however they are written."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from incremental_assets.core.config import resolve
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning import as_landed
from incremental_assets.core.planning.plan import Mode
from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.worlds import ALL, World

_UTF8 = "varchar(20) CHARACTER SET utf8mb4 COLLATE"
SPELLINGS = {
    "PostgreSQL": [("numeric", "1.0", "1.00"), ("interval", "'1 day'", "'24:00:00'")],
    "MariaDB": [(f"{_UTF8} utf8mb4_general_ci", "'a'", "'A '"), (f"{_UTF8} utf8mb4_bin", "'a'", "'a '")],
    "MySQL": [(f"{_UTF8} utf8mb4_0900_ai_ci", "'a'", "'Á'"), (f"{_UTF8} utf8mb4_general_ci", "'a'", "'A '")],
    "SQLite": [("text COLLATE NOCASE", "'a'", "'A'"), ("", "1", "1.0")],
}
OTHERS = {"PostgreSQL": ("'2'", "'3'"), "MariaDB": ("'b'", "'c'"), "MySQL": ("'b'", "'c'"), "SQLite": ("'b'", "'c'")}


def _tables(world: World) -> tuple[str, ...]:
    kinds = SPELLINGS[world.title]
    made = tuple(
        f"CREATE TABLE {name} (code {kinds[number][0]} NOT NULL PRIMARY KEY, note varchar(9), at {world.words.stamp})"
        for number, name in enumerate(("codes", "others"))
    )
    filled = tuple(
        f"INSERT INTO {name} (code, note) VALUES ({code}, 'first')"
        for number, name in enumerate(("codes", "others"))
        for code in (kinds[number][1], *OTHERS[world.title])
    )
    return (*made, *filled)


def _equal(desk: Stand[World], name: str) -> bool:
    """Keys are texts in the copy wherever they are written in several ways."""
    text = "CHAR" if desk.shop.title in ("MariaDB", "MySQL") else "text"
    copied = [(str(code), note) for code, note in desk.copy(name, "code", "note")]
    return copied == desk.source(f"SELECT CAST(code AS {text}), note FROM {name}")


@scenario(
    "T14",
    "The key of a row is changed to what the source takes for the same key, in another spelling (1.0 and 1.00, '1 day' and '24:00:00', a and A, a and á, a and 'a '), with a stamp and "
    "without one, and back again; syncs, a backfill, a repair and a full refresh read it, deletes are compared, and a history is kept",
    holds="there is one row of it in the copy at any time, as it is written in the source; no key is taken for gone, no version of the history overlaps another, and the runs hold what they promise",
)
@played_on(*ALL)
def test_a_key_is_written_in_another_way_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        "- {table: {s}.codes, cursor: {column: at, type: {c}, stamped: {by: application, within: 1h}}, strategy: upsert, history: scd2}\n"
        "- {table: {s}.others, cursor: {column: at, type: {c}, stamped: {by: application, within: 1h}}, strategy: upsert, deletes: {mode: diff, every: 0s, max_fraction: 1.0}}",
        *_tables(world),
    )
    desk.land()
    for number, name in enumerate(("codes", "others")):
        _, one, other = SPELLINGS[world.title][number]
        desk.execute(f"UPDATE {name} SET code = {other}, note = 'second', at = {world.words.now} WHERE code = {one}")
    reports = desk.land()
    assert {
        name: (report.guarantee, report.rows.updated, report.rows.inserted, report.rows.deleted)
        for name, report in reports.items()
    } == {
        "codes": ("settled_within", 1, 0, 0),
        "others": ("settled_within", 1, 0, 0),
    }
    for name in ("codes", "others"):
        assert _equal(desk, name)
        desk.land(name, mode=Mode.BACKFILL, window=Window(None, desk.settled(name)))
        assert _equal(desk, name)

    for number, name in enumerate(("codes", "others")):
        _, one, other = SPELLINGS[world.title][number]
        desk.execute(
            f"UPDATE {name} SET code = {one} WHERE code = {other}",
            f"UPDATE {name} SET note = 'moves', at = {world.words.now} WHERE note = 'first'",
        )
        assert desk.land(name)[name].rows.deleted == 0
        assert len(desk.copy(name)) == 3
        desk.land(name, mode=Mode.FULL_REFRESH)
        assert _equal(desk, name)
    with desk.runtime() as runtime:
        ports, spec = runtime.ports("shop"), desk.spec("codes")
        assert ports.historian.differing_versions(spec) == FaultyKeys(0)
        assert ports.historian.overlapping_versions(spec) == FaultyKeys(0)
        assert ports.auditor.duplicates(spec).rows == 0
    desk.execute("DELETE FROM others WHERE note = 'second'")
    assert desk.land("others")["others"].rows.deleted == 1
    assert _equal(desk, "others")


@scenario(
    "T14",
    "A key in a column of no type is the number 1, then the text '1', then 1.0; then there is a row of each, the number and the text",
    holds="the copy has one row while the source has one, as it is written there; of two that would be one in it the number lands, and the text is held by name until it is alone",
)
@played_on("sqlite")
def test_a_number_and_its_text_are_keys_of_one_column(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        "- {table: {s}.codes, cursor: {column: at, type: {c}, stamped: {by: application, within: 1h}}, strategy: upsert}",
        f"CREATE TABLE codes (code NOT NULL PRIMARY KEY, note varchar(9), at {world.words.stamp})",
        "INSERT INTO codes (code, note) VALUES (1, 'number'), (2, 'other')",
    )
    desk.land()
    for code, note in (("'1'", "text"), ("1.0", "real"), ("'1'", "again")):
        desk.execute(f"UPDATE codes SET code = {code}, note = '{note}', at = {world.words.now} WHERE note <> 'other'")
        report = desk.land()["codes"]
        assert (report.rows.updated, report.rows.inserted, report.rows.quarantined) == (1, 0, 0)
        assert desk.copy("codes", "code", "note") == [(code.strip("'"), note), ("2", "other")]
    desk.execute("INSERT INTO codes (code, note) VALUES (1, 'both')")
    both = desk.land()["codes"]

    assert desk.copy("codes", "code", "note") == [("1", "both"), ("2", "other")]
    assert both.rows.quarantined == 1
    assert ["the same number in another spelling" in row["_sync_reason"] for row in desk.quarantined("codes")] == [True]
    desk.execute(
        "DELETE FROM codes WHERE note = 'both'",
        f"UPDATE codes SET note = 'alone', at = {world.words.now} WHERE note = 'again'",
    )
    desk.land()
    assert desk.copy("codes", "code", "note") == [("1", "alone"), ("2", "other")]


@scenario(
    "T14",
    "A copy that an earlier release has made, with a history, tells keys apart as they are written: it goes on, is made anew by a full refresh, and its history is moved away",
    holds="until then no run is `settled` and each names the cure; a history of such keys is refused by name and stays as it is; then a key that is written anew is one row, and a version of it",
)
@played_on("sqlite")
def test_a_copy_of_an_earlier_release_is_made_anew(
    world: World, open_world: OpenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = open_world(
        "- {table: {s}.codes, cursor: {column: at, type: {c}, stamped: {by: application, within: 1h}}, strategy: upsert, history: scd2}",
        f"CREATE TABLE codes (code text COLLATE NOCASE NOT NULL PRIMARY KEY, note varchar(9), at {world.words.stamp})",
        "INSERT INTO codes (code, note) VALUES ('a', 'first'), ('b', 'other')",
    )

    def written_anew(code: str, note: str) -> None:
        desk.execute(f"UPDATE codes SET code = '{code}', note = '{note}', at = {world.words.now} WHERE code = '{code}'")

    with monkeypatch.context() as earlier:
        for module in (resolve, as_landed):
            earlier.setattr(module, "collated", lambda spec: spec)
        desk.land()
        written_anew("A", "second")
        desk.land()
    written_anew("a", "third")
    report = desk.land()["codes"]
    assert report.guarantee == "best_effort"
    assert "made by an earlier release" in report.guarantee_reason
    assert desk.copy("codes", "code") == [("A",), ("a",), ("b",)]
    desk.reset("codes")
    assert "made by an earlier release" in desk.land()["codes"].guarantee_reason
    assert desk.copy("codes", "code") == [("A",), ("a",), ("b",)]

    refused = desk.sync(mode=Mode.FULL_REFRESH)["codes"]
    assert "move the history away, so that a new one begins" in str(refused.error)
    assert _equal(desk, "codes")
    history = desk.shop.lake("codes").with_name("codes__history")
    history.rename(history.with_name("codes__earlier"))
    written_anew("A", "fourth")
    assert desk.land()["codes"].guarantee == "settled_within"
    written_anew("a", "fifth")
    assert desk.land()["codes"].rows.updated == 1
    assert _equal(desk, "codes")
    assert sorted(note for (note,) in desk.copy("codes__history", "note")) == ["fifth", "fourth", "other", "third"]
    assert desk.check("codes") == 0


@scenario(
    "T14",
    "Rows whose keys are written in several ways break their contract and are mended, are deleted and come back, are of a key of two columns, and are compared by hashes; two spellings come in one batch",
    holds="what is held is superseded by its key in another spelling, what comes back has no mark, each key has one row everywhere, and checks find nothing",
)
@played_on(*ALL)
def test_every_path_takes_keys_for_equal_as_their_source_does(world: World, open_world: OpenWorld) -> None:
    kind, one, other = SPELLINGS[world.title][0]
    (second, _), now = OTHERS[world.title], world.words.now
    by_cursor = "cursor: {column: at, type: {c}, stamped: {by: application, within: 1h}}, strategy: upsert"
    names = ("judged", "marked", "compared", "seen")
    desk = open_world(
        f"- {{table: {{s}}.judged, {by_cursor}, contract: {{note: {{notin: [broken]}}}}}}\n"
        f"- {{table: {{s}}.marked, {by_cursor}, deletes: {{mode: diff, then: mark, every: 0s, max_fraction: 1.0}}}}\n"
        "- {table: {s}.compared, strategy: upsert, compare: {every: 0s}}\n"
        "- {table: {s}.seen, cursor: {column: at, type: {c}, stamped: {by: application, within: 1h}}, strategy: append}",
        *(
            statement
            for name in names
            for statement in (
                f"CREATE TABLE {name} (code {kind} NOT NULL, part int NOT NULL, note varchar(9), at {world.words.stamp}, PRIMARY KEY (code, part))",
                f"INSERT INTO {name} (code, part, note) VALUES ({one}, 1, 'first'), ({one}, 2, 'beside'), ({second}, 1, 'other')",
            )
        ),
    )

    def written_anew(name: str, code: str, note: str) -> None:
        desk.execute(f"UPDATE {name} SET code = {code}, note = '{note}', at = {now} WHERE code = {code} AND part = 1")

    def notes(name: str) -> list[str]:
        return sorted(note for (note,) in desk.copy(name, "note"))

    desk.land()
    for name in names:
        written_anew(name, other, "broken")
        # The same row in two spellings within one batch, and both keys beside each other.
        desk.execute(f"UPDATE {name} SET code = {other}, at = {now} WHERE code = {one} AND part = 2")
    desk.execute("DELETE FROM marked WHERE part = 2")
    reports = desk.land()
    assert (reports["judged"].rows.quarantined, reports["judged"].rows.updated) == (1, 1)
    assert notes("judged") == ["beside", "first", "other"]
    assert notes("compared") == ["beside", "broken", "other"]
    assert (reports["compared"].guarantee, reports["compared"].rows.updated, reports["compared"].rows.deleted) == (
        "settled",
        2,
        0,
    )
    assert [row["_sync_deleted_at"] is None for row in _marks(desk)] == [False, True, True]
    assert notes("seen") == ["beside", "beside", "broken", "first", "other"]

    for name in names:
        written_anew(name, one, "mended")
    desk.execute(f"INSERT INTO marked (code, part, note) VALUES ({one}, 2, 'again')")
    desk.land()
    assert [row["_sync_resolution"] for row in desk.quarantined("judged")] == ["superseded"]
    assert [row["_sync_deleted_at"] for row in _marks(desk)] == [None, None, None]
    for name in ("judged", "marked", "compared"):
        assert _equal(desk, name)
        assert desk.check(name) == 0
    with desk.runtime() as runtime:
        assert runtime.ports("shop").auditor.duplicates(desk.spec("judged")).rows == 0


def _marks(desk: Stand[World]) -> list[Row]:
    frame = desk.spark.read.format("delta").load(str(desk.shop.lake("marked")))
    return frame.orderBy("note").collect()
