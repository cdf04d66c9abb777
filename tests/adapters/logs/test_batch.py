"""A batch has the last change of each key, and every value that was not sent is the one that the row had."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.adapters.logs.batch import BASE, Batch, latest, versions
from incremental_assets.adapters.logs.changes import (
    CHANGE,
    CODES,
    ORDINAL,
    OWN,
    UNSENT,
    Change,
    change_column,
    unsent_column,
    unsent_places,
)
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_COLUMN
from tests.adapters.logs.stand import LogStand
from tests.adapters.logs.test_changes import LONG

Row = dict[str, Any]
COLUMNS = ("id", "n", "big")


@dataclass
class Written:
    """A source whose log says of an update only what has changed of `big`, as of a value in a table of TOAST."""

    rows: dict[int, Row]
    log: list[tuple[Change, int, Row, bool]] = field(default_factory=list)
    transaction: int = 0

    def put(self, key: int, n: int, big: str | None) -> None:
        """Insert, or update; `big` None: as it is."""
        self.transaction += 1
        if key not in self.rows:
            self.rows[key] = {"id": key, "n": n, "big": big or "first"}
            self.log.append((Change.INSERT, 2, dict(self.rows[key]), False))
            return
        is_unsent = big is None
        self.rows[key] = {"id": key, "n": n, "big": self.rows[key]["big"] if big is None else big}
        self.log.append((Change.UPDATE, 2, dict(self.rows[key]), is_unsent))

    def move(self, key: int, other: int, big: str | None) -> None:
        if key not in self.rows or other in self.rows:
            return
        self.transaction += 1
        row = self.rows.pop(key)
        self.rows[other] = {"id": other, "n": row["n"], "big": row["big"] if big is None else big}
        self.log.append((Change.DELETE, 1, {"id": key, "n": None, "big": None}, False))
        self.log.append((Change.UPDATE, 2, dict(self.rows[other]), big is None))

    def delete(self, key: int) -> None:
        if self.rows.pop(key, None) is not None:
            self.transaction += 1
            self.log.append((Change.DELETE, 2, {"id": key, "n": None, "big": None}, False))

    def truncate(self) -> None:
        self.rows.clear()
        self.log.append((Change.TRUNCATE, 2, dict.fromkeys(COLUMNS), False))

    def changes(self) -> pa.Table:
        count = len(self.log)
        unsent = np.array([is_unsent for *_, is_unsent in self.log], bool)
        rows = [{**row, "big": None if is_unsent else row["big"]} for _, _, row, is_unsent in self.log]
        own = [
            change_column(np.array([CODES[change] for change, *_ in self.log], np.int8)),
            pa.array(range(count), pa.int64()),
            pa.array([ordinal for _, ordinal, *_ in self.log], pa.int64()),
            pa.array([1] * count, pa.int64()),
            pa.array([0] * count).cast(pa.timestamp("us", "UTC")),
            unsent_column([np.zeros(count, bool), np.zeros(count, bool), unsent], count),
            *(pa.nulls(count, pa.string()) for _ in range(3)),
        ]
        source = pa.schema([("id", pa.int32()), ("n", pa.int32()), ("big", pa.string())])
        return pa.Table.from_arrays(
            [*own, *pa.Table.from_pylist(rows, source).columns], schema=pa.schema([*OWN, *source])
        )


def applied(copy: dict[int, Row], batch: Batch) -> dict[int, Row]:
    """The copy after the batch: what was not sent is taken from the copy as it was, under the key that the batch says."""
    after = {} if batch.truncated else dict(copy)
    unsent = unsent_places(batch.rows, len(COLUMNS))
    for row, missing in zip(batch.rows.to_pylist(), unsent, strict=True):
        if row[OPERATION] == "gone":
            after.pop(row["id"], None)
            continue
        base = copy[row[BASE]["id"]] if row[BASE] is not None else {}
        after[row["id"]] = {
            name: base[name] if is_missing else row[name] for name, is_missing in zip(COLUMNS, missing, strict=True)
        }
    return after


keys = st.integers(1, 4)
bigs = st.none() | st.sampled_from(("x", "y"))
steps = st.one_of(
    st.tuples(st.just("put"), keys, st.integers(0, 9), bigs),
    st.tuples(st.just("move"), keys, keys, bigs),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("truncate")),
)


@given(st.lists(steps, max_size=30), st.sets(keys))
def test_a_copy_plus_the_batch_is_the_source(story: list[tuple[Any, ...]], before: set[int]) -> None:
    copy = {key: {"id": key, "n": 0, "big": f"old {key}"} for key in before}
    source = Written(dict(copy))
    for name, *arguments in story:
        getattr(source, name)(*arguments)
    batch = latest(source.changes(), ("id",))
    ids = batch.rows.column("id").to_pylist()
    assert len(ids) == len(set(ids))
    assert applied(copy, batch) == source.rows


@given(st.lists(steps, max_size=30), st.sets(keys))
def test_every_version_has_the_values_that_the_row_had(story: list[tuple[Any, ...]], before: set[int]) -> None:
    copy = {key: {"id": key, "n": 0, "big": f"old {key}"} for key in before}
    source = Written(dict(copy))
    for name, *arguments in story:
        getattr(source, name)(*arguments)
    found = versions(source.changes(), ("id",))
    missing = unsent_places(found, len(COLUMNS))[:, 2]
    bigs = [
        copy[row[BASE]["id"]]["big"] if is_missing else row["big"]
        for row, is_missing in zip(found.to_pylist(), missing, strict=True)
    ]
    assert bigs == [row["big"] for _, _, row, _ in source.log]


def test_a_key_of_two_columns_is_one_where_both_are_equal() -> None:
    source = Written({})
    source.put(1, 1, "x")
    source.put(2, 1, "x")
    source.put(1, 2, None)
    assert [row["id"] for row in latest(source.changes(), ("id", "big")).rows.to_pylist()] == [1, 2, 1]
    assert [row["n"] for row in latest(source.changes(), ("id",)).rows.to_pylist()] == [1, 2]


def test_rows_whose_key_no_copy_can_hold_are_all_kept() -> None:
    source = Written({})
    source.put(1, 1, "x")
    source.put(2, 2, "y")
    changes = source.changes()
    place = changes.schema.get_field_index(REJECT_COLUMN)
    changes = changes.set_column(place, REJECT_COLUMN, pa.array(["id", "id"]))
    changes = changes.set_column(changes.schema.get_field_index("id"), "id", pa.nulls(2, pa.int32()))
    assert latest(changes, ("id",)).rows.column("n").to_pylist() == [1, 2]


def test_no_change_is_no_batch() -> None:
    assert len(latest(Written({}).changes(), ("id",)).rows) == 0


def test_a_value_that_was_not_sent_is_found_on_a_real_server_also_under_an_earlier_key(stand: LogStand) -> None:
    oid = stand.publish("pages", "id int PRIMARY KEY, big text, n int")
    stand.execute(f"INSERT INTO pages SELECT g, t || g, 0 FROM ({LONG}) AS f(t), generate_series(1, 2) AS g")
    position = stand.flushed()
    stand.execute(
        "UPDATE pages SET id = 3 WHERE id = 1", "UPDATE pages SET n = 1", "UPDATE pages SET n = 2 WHERE id = 3"
    )
    (whole,) = (pa.concat_tables(each.rows for each in stand.changes(Followed(oid, ("id",)))),)
    later = pa.concat_tables(each.rows for each in stand.changes(Followed(oid, ("id",)), position=position))
    rows = {row["id"]: row for row in latest(whole, ("id",)).rows.to_pylist()}
    assert [rows[key]["big"][-1] for key in (2, 3)] == ["2", "1"]
    rows = {row["id"]: row for row in latest(later, ("id",)).rows.to_pylist()}
    assert (rows[3]["big"], rows[3][BASE], rows[3][UNSENT]) == (None, {"id": 1}, bytes([0b01000000]))
    assert (rows[2]["big"], rows[2][BASE], rows[1][OPERATION]) == (None, {"id": 2}, "gone")


def test_changes_of_more_than_two_gibibytes_are_one_batch() -> None:
    big = pa.array(["x" * 2**20])
    own = {name: pa.nulls(1, OWN.field(name).type) for name in OWN.names}
    one = pa.table(
        {**own, CHANGE: change_column(np.array([CODES[Change.UPDATE]])), ORDINAL: [2], "id": [1], "n": [1], "big": big}
    )
    assert latest(pa.concat_tables([one] * 2100), ("id",)).rows.select(COLUMNS).to_pylist() == [
        {"id": 1, "n": 1, "big": "x" * 2**20}
    ]
