"""What keeps a table from being read from the log is said in one sentence with its cure, and the copy stays as it is."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.logs.changes import LSN, XID
from incremental_assets.adapters.logs.segments.manifest import name_of
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open


def landed(open_shop: Open) -> LoggedShop:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 3) AS n")
    shop.land()
    return shop


def assert_loaded_again(shop: LoggedShop) -> None:
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal()
    shop.execute("UPDATE orders SET status = 'after'", "DELETE FROM orders WHERE id = 2")
    shop.land()
    shop.assert_equal()


def test_a_slot_that_is_missing_is_named_and_a_new_one_begins_with_a_load(open_shop: Open) -> None:
    shop = landed(open_shop)
    shop.execute(f"SELECT pg_drop_replication_slot('{shop.slot}')", "DELETE FROM orders WHERE id = 1")
    said = shop.refused()
    assert f"there is no replication slot {shop.slot}; run SELECT pg_create_logical_replication_slot" in said
    shop.execute(f"SELECT pg_create_logical_replication_slot('{shop.slot}', 'pgoutput')")
    assert "another program reads it" in shop.refused()
    assert_loaded_again(shop)


@pytest.mark.acceptance
def test_another_table_is_told_that_it_has_missed_what_was_in_a_lost_slot(open_shop: Open) -> None:
    shop = open_shop(ORDERS, "items (id int PRIMARY KEY)")
    shop.execute("INSERT INTO orders VALUES (1)", "INSERT INTO items VALUES (1)")
    shop.land("orders")
    shop.land("items")
    shop.execute(f"SELECT pg_drop_replication_slot('{shop.slot}')", "INSERT INTO items VALUES (2)")
    shop.execute(f"SELECT pg_create_logical_replication_slot('{shop.slot}', 'pgoutput')")
    shop.land("orders", mode=Mode.FULL_REFRESH)
    assert "what changed in between is in none; load it again with" in shop.refused("items")
    shop.land("items", mode=Mode.FULL_REFRESH)
    shop.execute("INSERT INTO items VALUES (3)")
    shop.land("items")
    shop.assert_equal("items")


@pytest.mark.acceptance
@pytest.mark.parametrize(("lost", "told"), [("", "has no record of it"), ("segments", "ahead of")])
def test_segments_that_somebody_has_removed_stop_the_tables_that_have_not_landed_them(
    open_shop: Open, lost: str, told: str
) -> None:
    shop = open_shop(ORDERS, "items (id int PRIMARY KEY)")
    shop.land("orders")
    shop.land("items")
    shop.execute("INSERT INTO orders VALUES (1)", "INSERT INTO items VALUES (1)")
    shop.land("orders")
    shutil.rmtree(shop.shelf().folder / lost)
    assert told in shop.refused("items")
    assert shop.stand.copy("items") == []
    for name in ("items", "orders"):
        shop.land(name, mode=Mode.FULL_REFRESH)
    shop.execute("INSERT INTO items VALUES (2)")
    shop.land("items")
    shop.assert_equal("orders", "items")


@pytest.mark.acceptance
def test_a_segment_that_was_altered_stops_the_table_and_a_load_goes_on_from_the_next(open_shop: Open) -> None:
    shop = open_shop(ORDERS, "items (id int PRIMARY KEY)")
    shop.land("orders")
    shop.land("items")
    shop.execute("INSERT INTO orders VALUES (1)", "INSERT INTO items VALUES (1)")
    shop.land("orders")
    for file in shop.shelf().segments.glob("*/*.parquet"):
        file.write_bytes(file.read_bytes()[:-1])
    assert "is cut, so that its 1 changes of the log cannot be trusted" in shop.refused("items")
    shop.land("items", mode=Mode.FULL_REFRESH)
    shop.execute("INSERT INTO items VALUES (2)", "DELETE FROM items WHERE id = 1")
    shop.land("items")
    shop.assert_equal("orders", "items")


@pytest.mark.acceptance
@pytest.mark.parametrize("damaged", ["segments/{last}/manifest.json", "standing.json", "followed.json"])
def test_what_cannot_be_read_of_the_segments_stops_the_table_and_a_load_begins_anew(
    open_shop: Open, damaged: str
) -> None:
    shop = open_shop(ORDERS, "items (id int PRIMARY KEY)")
    shop.land("orders")
    shop.land("items")
    shop.execute("INSERT INTO orders VALUES (1)", "INSERT INTO items VALUES (1)")
    shop.land("orders")
    shop.land("orders")
    (shop.shelf().folder / damaged.format(last=shop.shelf().names()[-1])).write_text("{")
    shop.execute("INSERT INTO orders VALUES (2)")
    assert "load the tables that have not landed it yet again with" in shop.refused("orders")
    shop.land("orders", mode=Mode.FULL_REFRESH)
    shop.execute("INSERT INTO orders VALUES (3)")
    shop.land("orders")
    assert "with `incremental-assets sync" in shop.refused("items")
    shop.land("items", mode=Mode.FULL_REFRESH)
    shop.execute("INSERT INTO items VALUES (3)")
    shop.land("items")
    shop.assert_equal("orders", "items")


@pytest.mark.acceptance
def test_segments_of_another_server_are_none_of_the_one_that_was_loaded_from(open_shop: Open) -> None:
    shop = landed(open_shop)
    shop.execute("INSERT INTO orders VALUES (77, 'lost', 1, NULL)")
    shop.land()
    shop.execute("DELETE FROM orders WHERE id = 77")
    as_of_another_server(shop.shelf())
    assert "another database cluster answers" in shop.refused()
    shop.land(mode=Mode.FULL_REFRESH)
    shop.execute("INSERT INTO orders VALUES (78, 'new', 1, NULL)")
    shop.land()
    shop.assert_equal()


def as_of_another_server(shelf: Shelf) -> None:
    """The last segment is of one whose log, and whose transactions, have come further."""
    folder = shelf.segments / shelf.names()[-1]
    found = json.loads((folder / "manifest.json").read_text())
    for piece in found["pieces"]:
        path = folder / piece["file"]["name"]
        rows = pq.read_table(path)
        for name, value in ((XID, 2_000_000), (LSN, found["standing"]["position"] + (1 << 39))):
            rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array([value] * len(rows)))
        pq.write_table(rows, path)
        piece["file"] |= {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    found["standing"]["server"]["system"] = "1"
    found["standing"]["position"] += 1 << 40
    (folder / "manifest.json").write_text(json.dumps(found))
    name = name_of(found["standing"]["number"], found["standing"]["position"])
    folder.rename(shelf.segments / name)
    (shelf.folder / "standing.json").unlink(missing_ok=True)
    kept = shelf.folder / "followed.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"last": name}))


@pytest.mark.acceptance
@pytest.mark.parametrize("lost", ["", "followed.json"])
def test_a_copy_that_is_taken_back_to_before_the_log_began_anew_is_loaded_again(open_shop: Open, lost: str) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 3) AS n")
    before = shop.land().run_id
    shop.execute("DELETE FROM orders WHERE id = 1")
    shop.land()
    shop.execute("DELETE FROM orders WHERE id = 3")
    remove(shop.shelf().folder / lost)
    assert "has no record of it" in shop.refused()
    shop.land(mode=Mode.FULL_REFRESH)
    with shop.stand.runtime() as runtime:
        roll_back(shop.stand.spec("orders"), before, "back", runtime.ports("shop"))
    assert len(shop.stand.copy("orders")) == 3
    shop.execute("INSERT INTO orders VALUES (78, 'new', 1, NULL)")
    assert "what changed in between is in none; load it again with" in shop.refused()
    assert_loaded_again(shop)


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.acceptance
def test_a_table_that_was_out_of_the_publication_for_a_while_is_loaded_again(open_shop: Open) -> None:
    shop = landed(open_shop)
    shop.execute("ALTER PUBLICATION shop DROP TABLE orders", "DELETE FROM orders WHERE id = 1")
    assert "is not in the publication shop; as its owner run ALTER PUBLICATION" in shop.refused()
    shop.execute("ALTER PUBLICATION shop ADD TABLE orders", "INSERT INTO orders VALUES (9, 'new', 9, NULL)")
    assert "it was removed from the publication for a while" in shop.refused()
    assert_loaded_again(shop)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "altered",
    [
        pytest.param("ALTER TABLE orders ADD COLUMN more int DEFAULT 7", marks=pytest.mark.acceptance),
        pytest.param("ALTER TABLE orders DROP COLUMN note", marks=pytest.mark.acceptance),
        pytest.param("ALTER TABLE orders RENAME COLUMN note TO remark", marks=pytest.mark.acceptance),
        pytest.param("ALTER TABLE orders ALTER COLUMN total TYPE text", marks=pytest.mark.acceptance),
        "ALTER TABLE orders DROP COLUMN note, ADD COLUMN note text",
    ],
)
def test_other_columns_stop_the_table_until_it_is_loaded_again(open_shop: Open, altered: str) -> None:
    shop = landed(open_shop)
    shop.execute("UPDATE orders SET status = 'before'", altered, "UPDATE orders SET status = 'after' WHERE id = 1")
    assert (
        "load the table again with `incremental-assets sync --select shop.public.orders --full-refresh`"
        in shop.refused()
    )
    assert_loaded_again(shop)


@pytest.mark.acceptance
def test_a_label_that_has_another_name_stops_the_table_until_it_is_loaded_again(open_shop: Open) -> None:
    shop = open_shop(f"{ORDERS[:-1]}, mood text)")
    shop.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "ALTER TABLE orders ALTER COLUMN mood TYPE mood USING mood::mood",
        "INSERT INTO orders SELECT n, 'new', n, NULL, 'sad' FROM generate_series(1, 3) AS n",
    )
    shop.land()
    shop.execute("ALTER TYPE mood ADD VALUE 'glad'", "UPDATE orders SET mood = 'glad' WHERE id = 1")
    shop.land()
    shop.assert_equal()
    shop.execute("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", "UPDATE orders SET status = 'x' WHERE id = 1")
    assert "what 'mood' shows is defined anew, and no log tells that of rows that did not change" in shop.refused()
    assert_loaded_again(shop)


@pytest.mark.acceptance
def test_a_table_that_was_made_anew_is_another_one(open_shop: Open) -> None:
    shop = landed(open_shop)
    shop.execute("DROP TABLE orders", f"CREATE TABLE {ORDERS}", "ALTER PUBLICATION shop ADD TABLE orders")
    assert "another table has its name" in shop.refused()


SWAP = (
    "ALTER TABLE orders RENAME COLUMN status TO other",
    "ALTER TABLE orders RENAME COLUMN note TO status",
    "ALTER TABLE orders RENAME COLUMN other TO note",
)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(
            (
                "ALTER TABLE orders ADD COLUMN more int",
                "UPDATE orders SET more = 1 WHERE id = 1",
                "ALTER TABLE orders DROP COLUMN more",
            ),
            marks=pytest.mark.acceptance,
        ),
        (*SWAP, "UPDATE orders SET total = 7 WHERE id = 1", *SWAP),
    ],
)
def test_columns_that_were_others_for_a_while_between_two_syncs_stop_the_table(
    open_shop: Open, statements: tuple[str, ...]
) -> None:
    shop = landed(open_shop)
    shop.execute(*statements)
    assert "the log has changes of it with other columns than it has now" in shop.refused()
    assert_loaded_again(shop)


@pytest.mark.acceptance
def test_a_role_without_the_right_is_told_which_one(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (1)", "ALTER ROLE reader NOREPLICATION")
    try:
        assert 'ALTER ROLE "reader" REPLICATION' in shop.refused()
    finally:
        shop.execute("ALTER ROLE reader REPLICATION")
    shop.land()


@pytest.mark.acceptance
def test_an_identity_that_does_not_show_the_key_is_named(open_shop: Open) -> None:
    shop = landed(open_shop)
    shop.execute("ALTER TABLE orders REPLICA IDENTITY NOTHING")
    assert "has no REPLICA IDENTITY" in shop.refused()
    shop.execute("ALTER TABLE orders REPLICA IDENTITY FULL", "DELETE FROM orders WHERE id = 2")
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_keys_that_two_rows_may_have_at_once_are_refused_by_name(open_shop: Open) -> None:
    shop = open_shop("orders (id int PRIMARY KEY DEFERRABLE, status text, total numeric(10,2), note text)")
    shop.execute("ALTER TABLE orders REPLICA IDENTITY FULL", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    assert "the primary key of public.orders is DEFERRABLE" in shop.refused()


@pytest.mark.acceptance
def test_what_reads_a_window_again_is_refused(open_shop: Open) -> None:
    shop = landed(open_shop)
    assert "is not read again in parts" in shop.refused(mode=Mode.BACKFILL)


@pytest.mark.acceptance
def test_a_slot_for_which_much_is_kept_is_told_of(open_shop: Open) -> None:
    shop = landed(open_shop)
    file = shop.stand.shop.config
    file.write_text(file.read_text().replace("publication: shop", "publication: shop, max_slot_lag: 1MiB"))
    shop.execute(
        "CREATE TABLE other (t text)",
        "INSERT INTO other SELECT repeat(md5(n::text), 20) FROM generate_series(1, 4000) AS n",
    )
    (warning,) = shop.land().warnings
    assert warning.startswith("the source keeps ")
    assert f"for the replication slot {shop.slot}, more than `max_slot_lag` allows" in warning
    for _ in range(3):
        shop.land()
