"""T17 on each database that has a server here: rows that no copy can hold."""

from __future__ import annotations

from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import scenario
from tests.conformance.worlds import World

UPSERT = "cursor: {column: updated_at, type: {c}}, strategy: upsert"
UNFIT = {
    "PostgreSQL": ("day date, price numeric(5,2)", (("'infinity'", "1"), ("'2024-02-29'", "'NaN'"))),
    "MariaDB": ("day date, price time(3)", (("'0000-00-00'", "NULL"), ("'2024-00-15'", "'838:59:58.999'"))),
    "MySQL": ("day date, price time(3)", (("'0000-00-00'", "NULL"), ("'2024-00-15'", "'838:59:58.999'"))),
    "SQLite": ("day date, price integer", (("'2024-02-29'", "'many'"), ("'soon'", "1"))),
}
"""Two columns, and two rows of which neither can land."""
FIT = {
    "PostgreSQL": ("'2024-02-29'", "1.5", "1.5"),
    "MariaDB": ("'2024-02-29'", "'838:59:58.999'", "838:59:58.999"),
    "MySQL": ("'2024-02-29'", "'838:59:58.999'", "838:59:58.999"),
    "SQLite": ("'2024-02-29'", "9223372036854775807", "9223372036854775807"),
}
"""One that can, with its last value as a text."""


@scenario(
    "T17",
    "Rows hold what no type of Spark can (zero dates and days that no calendar has; a text in a column of integers; infinite dates and NaN), beside a time of 838 hours and the largest integer",
    holds="each such row is in quarantine, once and with its column; the others land unaltered; a row that is mended lands and leaves no older one",
)
def test_values_that_cannot_land_on_each_database(world: World, open_world: OpenWorld) -> None:
    columns, unfit = UNFIT[world.title]
    day, value, text = FIT[world.title]
    desk = open_world(
        f"- {{table: {{s}}.orders, {UPSERT}}}",
        f"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, {columns}, updated_at {world.words.stamp})",
        *(f"INSERT INTO orders (id, day, price) VALUES ({n}, {a}, {b})" for n, (a, b) in enumerate(unfit, 1)),
        f"INSERT INTO orders (id, day, price) VALUES (3, {day}, {value})",
    )
    report = desk.land()["orders"]
    assert (report.rows.inserted, report.rows.quarantined) == (1, 2)
    assert sorted(str(row["id"]) for row in desk.quarantined("orders")) == ["1", "2"]
    ((number, landed),) = desk.copy("orders", "id", "price")
    assert (number, f"{landed:f}" if world.title == "PostgreSQL" else str(landed)) == (3, text)
    desk.execute(
        f"UPDATE orders SET day = {day}, price = {value}, updated_at = {world.words.now} WHERE id = 1",
        f"UPDATE orders SET day = {unfit[1][0]}, price = {unfit[1][1]}, updated_at = {world.words.now} WHERE id = 3",
    )
    desk.land()
    assert desk.copy("orders", "id") == [(1,)]


FOUR = """
- {table: {s}.kept, cursor: {column: updated_at, type: {c}}, strategy: upsert}
- {table: {s}.followed, cursor: {column: updated_at, type: {c}}, strategy: upsert, deletes: {mode: diff, every: 0s}}
- {table: {s}.compared, strategy: upsert, compare: {every: 0s}}
- {table: {s}.whole, strategy: full_refresh, refresh_every: 0s}
"""


@scenario(
    "T17",
    "Of two rows that cannot land one is deleted in the source: of tables that ignore deletes, follow them, are compared, and are read whole; one of them comes back as it was",
    holds="the next sync counts it no more where it asks for keys or reads all, the next check of a table where no sync does; in quarantine it stays on record, and one that comes back counts again",
)
def test_a_row_that_cannot_land_is_deleted_on_each_database(world: World, open_world: OpenWorld) -> None:
    columns, unfit = UNFIT[world.title]
    day, value, _ = FIT[world.title]
    names = ("kept", "followed", "compared", "whole")
    rows = (*enumerate(unfit, 1), (3, (day, value)), (4, (day, value)))
    desk = open_world(
        FOUR,
        *(
            f"CREATE TABLE {name} (id int NOT NULL PRIMARY KEY, {columns}, updated_at {world.words.stamp})"
            for name in names
        ),
        *(f"INSERT INTO {name} (id, day, price) VALUES ({n}, {a}, {b})" for name in names for n, (a, b) in rows),
    )

    def counted() -> dict[str, int]:
        with desk.runtime() as runtime:
            found = {name: runtime.ports("shop").quarantine.unfit(desk.spec(name)) for name in names}
        return {name: each.rows for name, each in found.items() if each is not None}

    assert {report.rows.quarantined for report in desk.land().values()} == {2}
    desk.execute(*(f"DELETE FROM {name} WHERE id = 1" for name in names))
    desk.land()
    assert counted() == {"kept": 2, "followed": 1, "compared": 1, "whole": 1}
    verdicts = [each for each in desk.verdicts("kept") if each.quarantined is not None]
    assert {each.quarantined for each in verdicts} == {1}
    assert counted() == dict.fromkeys(names, 1)
    assert {len(desk.quarantined(name)) for name in names} == {2}
    ((a, b), _) = unfit
    desk.execute(*(f"INSERT INTO {name} (id, day, price) VALUES (1, {a}, {b})" for name in names))
    desk.land()
    assert counted() == dict.fromkeys(names, 2)
    assert {name: desk.copy(name, "id") for name in names} == {name: [(3,), (4,)] for name in names}
