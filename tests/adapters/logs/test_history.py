"""A history of a table that is read from the log: every version that was committed, with the time of its commit, once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from incremental_assets.adapters.delta.history import by_tasks
from incremental_assets.adapters.logs import gathering
from incremental_assets.adapters.logs.postgresql.source_log import Begun, SourceLog
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import LoggedShop, Open
from tests.adapters.logs.test_capture import LONG
from tests.left_to_spark import left_to_spark

SCD2 = "history: scd2"
APPEND = "history: append"
ORDERS = "orders (id int PRIMARY KEY, status text, note text)"
WITH_A_TIME = "orders (id int PRIMARY KEY, at timestamptz, note text)"
OTHER_LONG = "SELECT string_agg(md5((n + 1000)::text), '') FROM generate_series(1, 500) AS n"


def versions(shop: LoggedShop, *names: str) -> list[tuple[Any, ...]]:
    """The versions of all rows by their keys, oldest first: these columns, and whether the row was there then."""
    chosen = names or ("id", "status")
    found = shop.stand.copy(
        "orders__history", "id", "_valid_from", *chosen, "_sync_deleted", "_valid_to", "_is_current"
    )
    ordered = sorted(found, key=lambda row: row[:2])
    for before, after in pairwise(ordered):
        assert before[-2] == (after[1] if before[0] == after[0] else None)
        assert before[-2] is None or before[-2] > before[1]
    assert all(row[-1] is (row[-2] is None and not row[-3]) for row in ordered)
    return [(*row[2:-3], "gone" if row[-3] else "there") for row in ordered]


def assert_sound(shop: LoggedShop) -> None:
    """What the checks of a history say."""
    with shop.stand.runtime() as runtime:
        lake, spec = runtime.ports("shop").lake, shop.stand.spec("orders")
        assert lake.behind(spec) is None
        for found in (lake.differing_versions(spec), lake.overlapping_versions(spec)):
            assert found is not None
            assert found.keys == 0, found.samples


def every_version(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new'), (2, 'new'), (3, 'new')")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = 'paid' WHERE id = 1",
        "UPDATE orders SET status = 'sent' WHERE id = 1",
        "UPDATE orders SET status = 'sent' WHERE id = 1",
        "DELETE FROM orders WHERE id = 2",
        "INSERT INTO orders VALUES (4, 'short')",
        "DELETE FROM orders WHERE id = 4",
    )
    report = shop.land()
    assert report.history is not None
    assert (report.history.added, report.history.deleted, report.history.ended) == (3, 2, 2)
    shop.execute("INSERT INTO orders VALUES (2, 'again')", "UPDATE orders SET status = 'back' WHERE id = 1")
    shop.land()
    assert versions(shop) == [
        (1, "new", "there"),
        (1, "paid", "there"),
        (1, "sent", "there"),
        (1, "back", "there"),
        (2, "new", "there"),
        (2, "new", "gone"),
        (2, "again", "there"),
        (3, "new", "there"),
        (4, "short", "there"),
        (4, "short", "gone"),
    ]
    assert_sound(shop)


@pytest.mark.acceptance
def test_each_change_of_a_row_is_a_version_and_one_that_left_it_as_it_was_is_none(open_shop: Open) -> None:
    every_version(open_shop(ORDERS, more=SCD2))


def with_the_time_of_their_commits(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    moments = [moment(shop)]
    for status in ("paid", "sent", "back"):
        shop.execute(f"UPDATE orders SET status = '{status}'")
        moments.append(moment(shop))
    shop.execute("DELETE FROM orders")
    moments.append(moment(shop))
    shop.land()
    begins = [at for (at,) in shop.stand.copy("orders__history", "_valid_from")]
    assert [*begins, *moments] != sorted([*begins, *moments])
    told = sorted([*((at, "begins") for at in begins), *((at, "looked") for at in moments)])
    assert [what for _, what in told] == ["begins", "looked"] * 5


def test_a_version_begins_when_its_transaction_was_committed(open_shop: Open) -> None:
    with_the_time_of_their_commits(open_shop(ORDERS, more=SCD2))


def moment(shop: LoggedShop) -> Any:
    ((now,),) = shop.stand.source("SELECT clock_timestamp()")
    return now


def several_in_one_transaction(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new'), (2, 'new')")
    shop.land()
    shop.together(
        "UPDATE orders SET status = 'a' WHERE id = 1",
        "UPDATE orders SET status = 'b' WHERE id = 1",
        "DELETE FROM orders WHERE id = 2",
        "INSERT INTO orders VALUES (2, 'new')",
        "UPDATE orders SET status = 'c' WHERE id = 1",
        "UPDATE orders SET id = 3 WHERE id = 1",
    )
    shop.execute("UPDATE orders SET id = 1 WHERE id = 2", "UPDATE orders SET id = 2 WHERE id = 3")
    shop.land()
    assert versions(shop) == [
        *((1, status, "there") for status in ("new", "a", "b", "c")),
        (1, "c", "gone"),
        (1, "new", "there"),
        (2, "new", "there"),
        (2, "new", "gone"),
        (2, "new", "there"),
        (2, "new", "gone"),
        (2, "c", "there"),
        (3, "c", "there"),
        (3, "c", "gone"),
    ]
    assert_sound(shop)


@pytest.mark.acceptance
def test_changes_of_one_transaction_follow_each_other_and_a_key_that_changes_ends_one_row_and_begins_another(
    open_shop: Open,
) -> None:
    several_in_one_transaction(open_shop(ORDERS, more=SCD2))


def values_that_were_not_sent(shop: LoggedShop) -> None:
    shop.execute(f"INSERT INTO orders SELECT n, 'new', f.t || n FROM ({LONG}) AS f(t), generate_series(1, 3) AS n")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = 'paid'",
        f"UPDATE orders SET note = f.t || id FROM ({OTHER_LONG}) AS f(t) WHERE id = 1",
        "UPDATE orders SET status = 'sent' WHERE id = 1",
        "UPDATE orders SET id = 20 WHERE id = 2",
        "DELETE FROM orders WHERE id = 3",
    )
    shop.land()
    shop.execute("UPDATE orders SET status = 'back'")
    shop.land()
    long, other = shop.stand.shop.rows(LONG)[0][0], shop.stand.shop.rows(OTHER_LONG)[0][0]
    told = {f"{text}{n}": f"{name} {n}" for name, text in (("first", long), ("second", other)) for n in (1, 2, 3)}
    found = [
        (key, status, told.get(note, note), is_there)
        for key, status, note, is_there in versions(shop, "id", "status", "note")
    ]
    assert found == [
        (1, "new", "first 1", "there"),
        (1, "paid", "first 1", "there"),
        (1, "paid", "second 1", "there"),
        (1, "sent", "second 1", "there"),
        (1, "back", "second 1", "there"),
        (2, "new", "first 2", "there"),
        (2, "paid", "first 2", "there"),
        (2, "paid", "first 2", "gone"),
        (3, "new", "first 3", "there"),
        (3, "paid", "first 3", "there"),
        (3, "paid", "first 3", "gone"),
        (20, "paid", "first 2", "there"),
        (20, "back", "first 2", "there"),
    ]
    assert_sound(shop)


@pytest.mark.acceptance
def test_a_value_that_was_not_sent_is_that_of_the_version_before(open_shop: Open) -> None:
    values_that_were_not_sent(open_shop(ORDERS, more=SCD2))


def a_version_that_could_not_land(shop: LoggedShop) -> None:
    """The row is gone from the copy with it, and what came before it is not what the next one goes on from."""
    first, other = shop.stand.shop.rows(LONG)[0][0], shop.stand.shop.rows(OTHER_LONG)[0][0]
    shop.execute(f"INSERT INTO orders SELECT n, '2024-01-01Z', f.t FROM ({LONG}) AS f(t), generate_series(1, 3) AS n")
    shop.land()
    shop.execute(
        f"UPDATE orders SET at = 'infinity', note = f.t FROM ({OTHER_LONG}) AS f(t) WHERE id = 1",
        "UPDATE orders SET at = 'infinity' WHERE id = 2",
        "UPDATE orders SET at = '2024-01-02Z' WHERE id = 2",
        f"UPDATE orders SET at = 'infinity', note = f.t FROM ({OTHER_LONG}) AS f(t) WHERE id = 3",
        "UPDATE orders SET at = '2024-01-02Z' WHERE id = 3",
    )
    shop.land()
    shop.execute("UPDATE orders SET at = '2024-01-03Z'")
    assert shop.land().rows.quarantined == 1
    found = [
        (*row[:2], {first: "first", other: "other"}.get(row[2]), row[3]) for row in versions(shop, "id", "at", "note")
    ]
    assert [(key, at and at.day, note, is_there) for key, at, note, is_there in found] == [
        (1, 1, "first", "there"),
        (1, 1, "first", "gone"),
        (2, 1, "first", "there"),
        (2, 1, "first", "gone"),
        (2, 2, "first", "there"),
        (2, 3, "first", "there"),
        (3, 1, "first", "there"),
        (3, 1, "first", "gone"),
        (3, 2, "other", "there"),
        (3, 3, "other", "there"),
    ]
    assert_sound(shop)


@pytest.mark.acceptance
def test_a_version_that_could_not_land_is_none_and_its_values_are_not_guessed(open_shop: Open) -> None:
    a_version_that_could_not_land(open_shop(WITH_A_TIME, more=SCD2))


def what_was_truncated(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new'), (2, 'new')")
    shop.land()
    shop.execute("INSERT INTO orders VALUES (3, 'new')", "DELETE FROM orders WHERE id = 2")
    shop.together("TRUNCATE orders", "INSERT INTO orders VALUES (1, 'after')")
    shop.execute("TRUNCATE orders", "INSERT INTO orders VALUES (3, 'last')")
    shop.land()
    assert versions(shop) == [
        (1, "new", "there"),
        (1, "new", "gone"),
        (1, "after", "there"),
        (1, "after", "gone"),
        (2, "new", "there"),
        (2, "new", "gone"),
        (3, "new", "there"),
        (3, "new", "gone"),
        (3, "last", "there"),
    ]
    assert_sound(shop)


@pytest.mark.acceptance
def test_rows_that_were_truncated_are_gone_from_that_commit_on(open_shop: Open) -> None:
    what_was_truncated(open_shop(ORDERS, more=SCD2))


def with_their_places(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new'), (2, 'new')")
    shop.land()
    shop.together(*(f"UPDATE orders SET status = '{status}' WHERE id = 1" for status in ("a", "b", "b", "c")))
    shop.execute(
        "DELETE FROM orders WHERE id = 2", "UPDATE orders SET status = 'd'", "INSERT INTO orders VALUES (2, 'e')"
    )
    shop.land()
    shop.execute("DELETE FROM orders WHERE id = 1")
    shop.land()
    found = shop.stand.copy(
        "orders__history", "id", "_commit_lsn", "_change_number", "status", "_sync_deleted", "_commit_at"
    )
    ordered = sorted(found, key=lambda row: row[:3])
    assert [(*row[:1], *row[3:5]) for row in ordered] == [
        *((1, status, False) for status in ("new", "a", "b", "c", "d")),
        (1, "d", True),
        (2, "new", False),
        (2, "new", True),
        (2, "e", False),
    ]
    assert len({row[:3] for row in ordered}) == len(ordered)
    of_one = [row[-1] for row in ordered if row[0] == 1]
    assert of_one == sorted(of_one)
    assert of_one[1] == of_one[2] == of_one[3]
    assert_sound(shop)


@pytest.mark.acceptance
def test_a_history_without_validity_tells_the_place_of_each_version_in_the_log(open_shop: Open) -> None:
    with_their_places(open_shop(ORDERS, more=APPEND))


def in_whole_transactions(shop: LoggedShop, patch: pytest.MonkeyPatch) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    shop.together(*(f"UPDATE orders SET status = '{n}'" for n in (1, 2, 3)))
    shop.execute("UPDATE orders SET status = '4'", "DELETE FROM orders")
    patch.setattr(gathering, "MOST_CHANGES", 1)
    counts = []
    for _ in range(2):
        shop.land()
        counts.append(len(versions(shop)))
    assert counts == [5, 6]
    assert versions(shop) == [*((1, status, "there") for status in ("new", "1", "2", "3", "4")), (1, "4", "gone")]


@pytest.mark.acceptance
def test_a_batch_that_ends_before_the_log_does_has_its_versions_and_no_more(
    open_shop: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_whole_transactions(open_shop(ORDERS, more=SCD2), monkeypatch)


def shown_by_a_load(shop: LoggedShop, patch: pytest.MonkeyPatch) -> None:
    """Transactions that the snapshot shows are in the log behind the position from which it goes on, and make no versions."""
    begin = SourceLog.begin

    def begun(self: SourceLog, spec: TableSpec) -> Begun:
        found = begin(self, spec)
        shop.execute("UPDATE orders SET status = 'a'", "UPDATE orders SET status = 'b'")
        return found

    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    patch.setattr(SourceLog, "begin", begun)
    shop.land()
    shop.execute("UPDATE orders SET status = 'paid'")
    shop.land()
    assert versions(shop) == [(1, "b", "there"), (1, "paid", "there")]


@pytest.mark.acceptance
def test_what_the_snapshot_of_a_load_shows_makes_no_versions_again(
    open_shop: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown_by_a_load(open_shop(ORDERS, more=SCD2), monkeypatch)


def joined_with_a_load(shop: LoggedShop) -> None:
    """What the snapshot shows is one version, and what it does not show comes behind it, once."""
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    late = shop.stand.shop.connect()
    shop.execute("UPDATE orders SET status = 'paid'")
    shop.land()
    late.execute("INSERT INTO orders VALUES (2, 'late')")
    shop.execute("UPDATE orders SET status = 'sent'")
    shop.land()
    late.execute("UPDATE orders SET status = 'later' WHERE id = 1")
    late.commit()
    late.close()
    shop.land()
    assert versions(shop) == [
        *((1, status, "there") for status in ("paid", "sent", "later")),
        (2, "late", "there"),
    ]
    assert_sound(shop)


@pytest.mark.acceptance
def test_a_transaction_that_was_open_while_the_table_was_loaded_has_its_versions_once(open_shop: Open) -> None:
    joined_with_a_load(open_shop(ORDERS, more=SCD2))


@pytest.mark.acceptance
def test_a_history_that_was_off_for_a_while_goes_on_with_one_version_for_what_happened_meanwhile(
    open_shop: Open,
) -> None:
    shop = open_shop(ORDERS)
    config = shop.stand.shop.config
    without = config.read_text()
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    shop.execute("UPDATE orders SET status = 'before'")
    shop.land()
    config.write_text(without.replace("capture: log", f"capture: log, {SCD2}"))
    shop.execute("UPDATE orders SET status = 'paid'")
    shop.land()
    assert versions(shop) == [(1, "before", "there"), (1, "paid", "there")]
    config.write_text(without)
    for status in ("a", "b"):
        shop.execute(f"UPDATE orders SET status = '{status}'")
        shop.land()
    config.write_text(without.replace("capture: log", f"capture: log, {SCD2}"))
    shop.execute("UPDATE orders SET status = 'c'", "UPDATE orders SET status = 'd'")
    shop.land()
    shop.land(mode=Mode.FULL_REFRESH)
    assert versions(shop) == [(1, status, "there") for status in ("before", "paid", "b", "c", "d")]
    assert_sound(shop)


STORIES = {
    "every version": (ORDERS, every_version),
    "times": (ORDERS, with_the_time_of_their_commits),
    "one transaction": (ORDERS, several_in_one_transaction),
    "values that were not sent": (ORDERS, values_that_were_not_sent),
    "what could not land": (WITH_A_TIME, a_version_that_could_not_land),
    "truncation": (ORDERS, what_was_truncated),
}


@pytest.mark.acceptance
@pytest.mark.parametrize("name", STORIES)
def test_spark_makes_the_same_versions(open_shop: Open, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_tasks, "follow", left_to_spark)
    table, story = STORIES[name]
    story(open_shop(table, more=SCD2))
