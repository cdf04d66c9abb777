"""What every database owes to `where`: a table of which some rows are chosen answers as one that has no others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.config.masks import with_masks
from incremental_assets.core.config.where import check_where, parse_where
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.mask import Mask
from incremental_assets.core.model.measure import RowHash
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Cursor, NullPolicy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import NothingToDo
from incremental_assets.core.preview.pending import Pending, located
from tests.adapters.databases.contract import WHOLE, World, decided, observe, planned, rows_of, spec_of, synced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = KeyParts(-(2**63), 2**63 - 1)
OURS, THEIRS = "tenant_id = 7", "tenant_id = 8"
_ROWS = (
    (1, 7, "'paid'", "9.50", "'2024-01-31'", "TRUE", "'2024-02-01 10:00:00'"),
    (2, 8, "'paid'", "9.50", "'2024-01-31'", "TRUE", "'2024-01-01 11:00:00'"),
    (3, 7, "'it''s; -- new /* %s ? */ \"x\"'", "-1", "'2024-02-29'", "FALSE", "'2024-02-02 10:00:00'"),
    (4, "NULL", "NULL", "NULL", "NULL", "NULL", "'2024-02-03 10:00:00'"),
    (5, 7, "'open'", "100", "'2024-03-01'", "TRUE", "NULL"),
    (6, 8, "'open'", "100", "'2024-03-01'", "TRUE", "NULL"),
)  # fmt: skip


def bills(world: World, name: str = "bills", where: str = "", *, only: object = None) -> TableSpec:
    """Rows of two tenants and of none, and the table by its condition; `only` those of one tenant."""
    truth = {"mariadb": "bit(1)", "mysql": "bit(1)"}.get(world.address.dialect, "boolean")
    world.execute(
        f"CREATE TABLE {name} (id integer NOT NULL PRIMARY KEY, tenant_id integer, note varchar(50), price decimal(8,2), due date, "
        f"settled {truth}, updated_at {world.words.stamp} NULL)",
        *(f"INSERT INTO {name} VALUES ({', '.join(map(str, row))})" for row in _ROWS if only in (None, row[1])),
    )
    return chosen(world, name, where)


def chosen(world: World, name: str, where: str, **changes: Any) -> TableSpec:
    """The table by its condition."""
    cursor = changes.pop("cursor", Cursor("updated_at", world.words.stamps, NullPolicy.ALWAYS))
    condition = parse_where(where) if where else None
    spec = spec_of(world, name, cursor, where=condition, **changes)
    check_where(spec.shape, condition)
    return spec


def at(world: World, text: str) -> CursorValue:
    """A stamp."""
    return CursorValue.parse(world.words.stamps, f"{text}Z" if world.words.stamps is CursorType.TIMESTAMP else text)


def windows(world: World) -> tuple[Window, ...]:
    """Two beside each other."""
    middle = at(world, "2024-02-02T00:00:00")
    return Window(None, middle), Window(middle, at(world, "2024-03-01T00:00:00"))


def seen(found: DatabaseObservation) -> tuple[Any, ...]:
    """What a look says of rows."""
    mark = found.fingerprint
    return found.highest, mark and (mark.rows, mark.highest)


def answers(world: World, spec: TableSpec) -> dict[str, Any]:
    """All that a source is asked of its rows."""
    probe, found = SqlProbe(world.address, "shop"), {}
    numbered = replace(spec, cursor=Cursor("id", CursorType.INTEGER))
    found["looks"] = [
        seen(each) for each in probe.observe([ObserveRequest(spec, None), ObserveRequest(numbered, None)])
    ]
    found["lowest"], found["highest"] = probe.lowest([spec, numbered]), probe.highest([numbered])
    by = (RowHash.TEXT, probe.row_hash())
    found["measures"] = [probe.measure(spec, wanted, each) for wanted in ((WHOLE,), windows(world)) for each in by]
    found["ends"] = probe.key_ends(spec)
    with probe.keys(spec) as keys:
        found["keys"] = keys.sums(KEYS, 2), keys.texts(KEYS), keys.present(frozenset({"1", "2", "4", "9"}))
    with probe.placed_rows(spec, windows(world)) as placed:
        assert placed is not None
        found["placed"] = placed.spread(), placed.sums(KEYS, 1), sorted(placed.hashes(KEYS))
    followed = replace(spec, deletes=Deletes(DeleteMode.DIFF))
    with probe.snapshot(planned(probe, followed)) as numbers:
        assert numbers.keys is not None
        found["snapshot"] = numbers.rows, numbers.nulls, numbers.highest, numbers.keys.texts(KEYS)
    found["peek"] = sorted(probe.peek(spec, 10) or (), key=str)
    probe.close()
    return found


def lag(world: World, spec: TableSpec) -> float:
    probe = SqlProbe(world.address, "shop")
    (found,) = probe.lag([ObserveRequest(spec, None)])
    probe.close()
    return found


@pytest.mark.parametrize("dialect_words", [OURS, "tenant_id = 7 AND NOT (id IN (2, 6))"])
def test_every_answer_is_that_of_a_table_with_these_rows_alone(world: World, dialect_words: str) -> None:
    some, alone = bills(world, where=dialect_words), bills(world, "ours", only=7)

    assert answers(world, some) == answers(world, alone)
    # The clock goes on between the two.
    assert lag(world, some) == pytest.approx(lag(world, alone), abs=600)
    assert answers(world, some)["keys"][1] == {"1", "3", "5"}
    assert [row[:2] for row in answers(world, some)["peek"]] == [("1", "7"), ("3", "7"), ("5", "7")]


def test_what_a_read_would_ask_is_shown_with_its_condition(world: World, probe: SqlProbe) -> None:
    (found,) = probe.estimates([planned(probe, bills(world, where=OURS))])
    assert not found.sql or "tenant_id" in found.sql.partition("WHERE")[2]


def test_these_rows_alone_are_read_and_compared_in_spark(world: World, probe: SqlProbe, spark: SparkSession) -> None:
    spec = bills(world, where=OURS)
    reader = dialect_of(world.address.dialect).reader(world.address)

    assert [row[0] for row in rows_of(spark, world, planned(probe, spec))] == [1, 3, 5]
    assert {row[0] for row in reader.row_hashes(spark, spec, (WHOLE,)).collect()} == {"1", "3", "5"}
    assert {row[0] for row in reader.row_texts(spark, spec, (WHOLE,)).collect()} == {"1", "3", "5"}


def test_the_rows_are_the_same_where_columns_of_the_condition_are_masked_or_not_read(
    world: World, probe: SqlProbe, spark: SparkSession
) -> None:
    spec = bills(world, where="note IS NOT NULL AND tenant_id = 7")
    masked = with_masks(spec, (("note", Mask.REDACT),))
    narrow = replace(spec, shape=spec.shape.without(["note", "tenant_id"]))

    assert [row[0] for row in rows_of(spark, world, planned(probe, masked))] == [1, 3, 5]
    assert [probe.measure(each, (WHOLE,))[0].rows for each in (masked, narrow)] == [3, 3]


def test_where_most_numbers_lie_is_found_whatever_tells_rows_apart_and_leaves_some_out(world: World) -> None:
    world.execute(
        "CREATE TABLE far (code varchar(20) NOT NULL PRIMARY KEY, number bigint NOT NULL, tenant_id integer, gone integer)",
        *(f"INSERT INTO far VALUES ('{at}', {at}, 7, 0)" for at in range(1, 10)),
        f"INSERT INTO far VALUES ('z', {2**63 - 1}, 7, 0)",
        *(f"INSERT INTO far VALUES ('{at}', {at}, 8, 0)" for at in range(10**12, 10**12 + 20)),
    )
    marked = Deletes(DeleteMode.SOFT, column="gone", value="1")
    spec = chosen(world, "far", OURS, cursor=Cursor("number", CursorType.INTEGER), deletes=marked)
    probe = SqlProbe(world.address, "shop")
    first = Pending(spec, WHOLE, replace(observe(probe, spec), highest=CursorValue(CursorType.INTEGER, f"{2**63 - 1}")))
    (found,) = located([first], probe, lambda _: IntegerGrid(10))
    probe.close()
    assert found.bulk == (0, 9)


def test_keys_that_are_texts_are_those_of_these_rows_alone(world: World) -> None:
    world.execute(
        f"CREATE TABLE codes (code varchar(9) NOT NULL PRIMARY KEY, tenant_id integer, updated_at {world.words.stamp})",
        "INSERT INTO codes VALUES ('a', 7, '2024-02-01 10:00:00')",
        "INSERT INTO codes VALUES ('b', 8, '2024-02-01 10:00:00')",
    )
    probe, spec = SqlProbe(world.address, "shop"), chosen(world, "codes", OURS)
    with probe.keys(spec) as keys:
        assert sum(found.rows for found in keys.sums(KeyParts(0, 2**60 - 1), 50).values()) == 1
        assert len(keys.texts(KeyParts(0, 2**60 - 1))) == 1
    probe.close()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("tenant_id = 7", {"1", "3", "5"}),
        ("tenant_id <> 7", {"2", "6"}),
        ("tenant_id != 7", {"2", "6"}),
        ("NOT tenant_id = 7", {"2", "6"}),
        ("tenant_id IS NULL", {"4"}),
        ("tenant_id IS NOT NULL AND id > 2", {"3", "5", "6"}),
        ("id BETWEEN 2 AND 4", {"2", "3", "4"}),
        ("id NOT BETWEEN 2 AND 4", {"1", "5", "6"}),
        ("tenant_id IN (7, 9)", {"1", "3", "5"}),
        ("tenant_id NOT IN (7, 9)", {"2", "6"}),
        ("tenant_id = 8 OR id = 1 AND price = 9.5", {"1", "2", "6"}),
        ("(tenant_id = 8 OR id = 1) AND price >= 9.50", {"1", "2", "6"}),
        ("price < 0", {"3"}),
        ("price = -1", {"3"}),
        ("note = 'paid'", {"1", "2"}),
        ("note LIKE 'p%d'", {"1", "2"}),
        ("note NOT LIKE 'p%'", {"3", "5", "6"}),
        ("note = 'it''s; -- new /* %s ? */ \"x\"'", {"3"}),
        ("note <> 'x'' OR 1=1 --'", {"1", "2", "3", "5", "6"}),
        ("note = 'x\\' OR note = 'paid'", {"1", "2"}),
        ("due >= '2024-02-29'", {"3", "5", "6"}),
        ("updated_at < '2024-02-01 11:00:00'", {"1", "2"}),
        ("updated_at >= '2024-02-03'", {"4"}),
        ("settled", {"1", "2", "5", "6"}),
        ("NOT settled", {"3"}),
        ("settled = FALSE OR settled IS NULL", {"3", "4"}),
        ("settled IN (TRUE) AND `tenant_id` = 7 AND \"id\" > 1", {"5"}),
    ],
)  # fmt: skip
def test_each_form_of_a_condition_means_what_it_says(world: World, where: str, expected: set[str]) -> None:
    spec = bills(world, where=where)
    probe = SqlProbe(world.address, "shop")
    with probe.keys(spec) as keys:
        assert keys.texts(KEYS) == expected
    assert probe.measure(spec, (WHOLE,))[0].rows == len(expected)
    with probe.snapshot(planned(probe, spec)) as numbers:
        assert numbers.rows == len(expected)
    probe.close()


def test_a_row_that_leaves_the_condition_is_read_no_more_and_missing_among_its_keys(
    world: World, probe: SqlProbe
) -> None:
    # Not every database reads rows without a cursor again that nobody has written since.
    bills(world)
    world.execute("DELETE FROM bills WHERE updated_at IS NULL")
    spec = chosen(world, "bills", OURS)
    _, state = synced(probe, spec)
    now = world.words.now
    world.execute(
        f"UPDATE bills SET tenant_id = 8, updated_at = {now} WHERE id = 1",
        f"UPDATE bills SET updated_at = {now} WHERE id = 3",
    )

    assert synced(probe, spec, state)[0] == 1, "the other one"
    with probe.keys(spec) as keys:
        assert keys.present(frozenset({"1", "3"})) == {"3"}


def test_what_others_write_is_no_change(world: World, probe: SqlProbe) -> None:
    bills(world)
    world.execute("DELETE FROM bills WHERE updated_at IS NULL")
    spec = chosen(world, "bills", OURS)
    _, state = synced(probe, spec)

    now = world.words.now
    world.execute(f"UPDATE bills SET note = 'other', updated_at = {now} WHERE tenant_id = 8")
    assert isinstance(decided(probe, spec, state), NothingToDo)
    world.execute(f"UPDATE bills SET note = 'other', updated_at = {now} WHERE id = 1")
    assert synced(probe, spec, state)[0] == 1


def test_a_condition_on_a_column_whose_name_is_hostile_stays_one(world: World, probe: SqlProbe) -> None:
    quote = "`" if world.address.dialect in ("mariadb", "mysql") else '"'
    name = 'a"b; % -- ?'
    written = quote + (name.replace('"', '""') if quote == '"' else name) + quote
    world.execute(
        f"CREATE TABLE odd (id integer NOT NULL PRIMARY KEY, {written} integer, updated_at {world.words.stamp})",
        "INSERT INTO odd VALUES (1, 1, '2024-02-01 10:00:00')",
        "INSERT INTO odd VALUES (2, 2, '2024-02-01 10:00:00')",
    )
    spec = chosen(world, "odd", '"a""b; % -- ?" = 2')

    assert probe.measure(spec, (WHOLE,))[0].rows == 1
    with probe.snapshot(planned(probe, spec)) as numbers:
        assert numbers.rows == 1
