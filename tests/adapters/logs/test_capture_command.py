"""`capture status`, `add` and `remove`: where a log stands, what a new table asks for, and a table that is read from it no more."""

from __future__ import annotations

import pytest

from incremental_assets.cli.answer import Cell, Grid, Note
from incremental_assets.cli.commands import capture
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import ORDERS, Open

ITEMS = "items (id int PRIMARY KEY)"


def test_an_on_call_person_sees_what_the_slot_keeps_and_why(open_shop: Open) -> None:
    shop = open_shop(ORDERS, ITEMS)
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land("orders")
    late = shop.stand.shop.connect()
    late.execute("INSERT INTO orders VALUES (2, 'late', 2, NULL)")
    shop.execute("INSERT INTO orders SELECT n, 'new', n, repeat('x', 500) FROM generate_series(10, 2000) AS n")
    answer = capture.run(shop.stand.shop.config, "status", ())
    late.rollback()
    late.close()
    (source,) = answer.document["sources"]
    assert (source["source"], source["slot"], source["publication"], source["error"]) == (
        "shop",
        shop.slot,
        "shop",
        None,
    )
    assert source["unread_bytes"] > 2**20
    assert source["source_keeps_bytes"] >= source["unread_bytes"]
    assert any("transaction of session" in holder for holder in source["holders"])
    assert source["segments"] == len(shop.shelf().names())
    orders, items = source["tables"]
    assert (orders["table"], orders["position"], orders["says"]) == ("shop.public.orders", str(shop.at()), None)
    assert orders["behind_bytes"] > 2**20
    assert (items["position"], items["says"]) == (None, "nothing was loaded yet")
    notes = [each.text for each in answer.shown if isinstance(each, Note)]
    assert f"shop: the slot {shop.slot} has" in notes[0]
    (grid,) = [each for each in answer.shown if isinstance(each, Grid)]
    assert [row[0] for row in grid.rows] == ["shop.public.orders", "shop.public.items"]
    assert grid.rows[1][3] == Cell("nothing was loaded yet", "warn")
    assert answer.exit_code == 0
    record = shop.shelf().folder / "followed.json"
    kept = record.read_text()
    record.write_text("{")
    (source,) = capture.run(shop.stand.shop.config, "status", ()).document["sources"]
    assert f"{record} does not say which tables are read from the log" in source["error"]
    assert source["source_keeps_bytes"] > 2**20
    record.write_text(kept)
    shop.execute(f"SELECT pg_drop_replication_slot('{shop.slot}')")
    answer = capture.run(shop.stand.shop.config, "status", ())
    assert (answer.exit_code, answer.document["sources"][0]["error"].partition(";")[0]) == (
        1,
        f"there is no replication slot {shop.slot}",
    )


@pytest.mark.acceptance
def test_a_table_that_comes_and_one_that_goes_are_said_with_their_statements(open_shop: Open) -> None:
    shop = open_shop(ORDERS, ITEMS)
    config = shop.stand.shop.config
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)", "INSERT INTO items VALUES (1)")
    shop.land("orders")
    shop.land("items")
    shop.execute("CREATE TABLE more (id int PRIMARY KEY)", "INSERT INTO more VALUES (1)")
    with pytest.raises(SelectionError):
        capture.run(config, "add", ("public.more",))
    written = config.read_text()
    config.write_text(written.replace("public.items", "public.more"))
    with pytest.raises(SelectionError, match=r"shop.public.orders is still read from the log"):
        capture.run(config, "remove", ("public.orders",))
    (source,) = capture.run(config, "status", ()).document["sources"]
    (left,) = [each for each in source["tables"] if each["left"]]
    assert left["table"] == "shop.public.items"
    assert "`incremental-assets capture remove shop.public.items` lets it go" in left["says"]
    statements = capture.run(config, "add", ("public.more",)).document["sql"]["shop"]
    assert statements == 'ALTER PUBLICATION "shop" ADD TABLE "public"."more";'
    answer = capture.run(config, "remove", ("public.items",))
    assert answer.document == {
        "removed": ["shop.public.items"],
        "sql": {"shop": ['ALTER PUBLICATION "shop" DROP TABLE "public"."items";']},
    }
    shop.execute(statements, *answer.document["sql"]["shop"])
    shop.land("more")
    shop.land("orders")
    shop.assert_equal("more", "orders")
    (source,) = capture.run(config, "status", ()).document["sources"]
    assert [(each["table"], each["says"]) for each in source["tables"]] == [
        ("shop.public.orders", None),
        ("shop.public.more", None),
    ]
    with pytest.raises(SelectionError, match=r"for none of public.items is anything kept"):
        capture.run(config, "remove", ("public.items",))
    config.write_text(written)
    # What it has missed since is in no file: it says so, and is loaded again.
    shop.execute("ALTER PUBLICATION shop ADD TABLE items")
    assert "--full-refresh" in shop.refused("items")
    shop.land("items", mode=Mode.FULL_REFRESH)
    shop.assert_equal("items")


@pytest.mark.acceptance
def test_tables_that_were_moved_or_dropped_are_each_named_as_they_are_called_now(open_shop: Open) -> None:
    shop = open_shop(ORDERS, ITEMS, "more (id int PRIMARY KEY)", "last (id int PRIMARY KEY)")
    for name in ("items", "more", "last"):
        shop.execute(f"INSERT INTO {name} (id) VALUES (1)")
        shop.land(name)
    config = shop.stand.shop.config
    kept = config.read_text().splitlines()
    config.write_text("\n".join(each for each in kept if "public.orders" in each or not each.startswith("- ")) + "\n")
    shop.execute('CREATE SCHEMA "a.b"', 'ALTER TABLE items SET SCHEMA "a.b"', "DROP TABLE more, last")
    (source,) = capture.run(config, "status", ()).document["sources"]
    left = [each["table"] for each in source["tables"] if each["left"]]
    *dropped, moved = sorted(left)
    assert moved == "shop.a.b.items"
    assert [each.removeprefix("shop.").isdecimal() for each in dropped] == [True, True]
    answer = capture.run(config, "remove", (moved, *dropped))
    assert sorted(answer.document["removed"]) == sorted(left)
    assert answer.document["sql"] == {"shop": ['ALTER PUBLICATION "shop" DROP TABLE "a.b"."items";']}
