"""T14: keys that are one key to the source, and two in the copy."""

from __future__ import annotations

from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import played_on, scenario
from tests.conformance.worlds import ALL, World

_UTF8 = "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
SPELLINGS = {
    "PostgreSQL": ("numeric", "1.0", "1.00"),
    "MariaDB": (_UTF8, "'a'", "'A '"),
    "MySQL": (_UTF8, "'a'", "'A '"),
    "SQLite": ("text COLLATE NOCASE", "'a'", "'A'"),
}


@scenario(
    "T14",
    "The key of a row is changed to what the source takes for the same key, in another spelling (1.0 and 1.00, a and A), with and without `deletes: {mode: diff}`",
    holds="without it no run is settled, and each names the column and the cure; with it the old spelling leaves the copy, and the run holds what it promises",
)
@played_on(*ALL)
def test_a_key_is_written_in_another_way_on_each_database(world: World, open_world: OpenWorld) -> None:
    kind, one, other = SPELLINGS[world.title]
    cursor = "cursor: {column: at, type: {c}, stamped: {by: application, within: 1h}}, strategy: upsert"
    desk = open_world(
        f"- {{table: {{s}}.codes, {cursor}}}\n- {{table: {{s}}.others, {cursor}, deletes: {{mode: diff, every: 0s, max_fraction: 1.0}}}}",
        *(
            statement
            for name in ("codes", "others")
            for statement in (
                f"CREATE TABLE {name} (code {kind} NOT NULL PRIMARY KEY, note varchar(9), at {world.words.stamp})",
                f"INSERT INTO {name} (code, note) VALUES ({one}, 'first')",
            )
        ),
    )
    desk.land()
    for name in ("codes", "others"):
        desk.execute(f"UPDATE {name} SET code = {other}, note = 'second', at = {world.words.now} WHERE code = {one}")
    reports = desk.land()

    assert reports["codes"].guarantee == "best_effort"
    assert "for equal that the copy tells apart" in reports["codes"].guarantee_reason
    assert "`deletes: {mode: diff}`" in reports["codes"].guarantee_reason
    assert reports["others"].guarantee == "settled_within"
    assert desk.copy("others", "note") == [("second",)]
