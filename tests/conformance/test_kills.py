"""T10: kill -9 at every named point of a sync, whatever it is doing."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from tests.conformance.killing import killed
from tests.conformance.mart import CHANGE, DECISIVE, MAINTENANCE, NAMES, Marts, assert_healed, moments
from tests.conformance.points import Point, Upkeep
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

EVERYWHERE = {"first load": tuple(Point), "incremental": tuple(Point)}


@scenario(
    "T10",
    "kill -9 of the whole process at each of nine points of a first load and of an incremental sync, and at four points of a backfill and a full refresh, "
    "striking upsert, append and full_refresh in turn, the other tables wherever they are",
    holds="one more sync: every table equals the source, nothing is there twice, no staged batch, lease or open sequence is left",
    long=True,
)
@pytest.mark.parametrize(("running", "point", "table"), moments(EVERYWHERE, DECISIVE), ids=str)
def test_a_killed_sync_is_made_good_by_the_next(marts: Marts, running: str, point: Point, table: str) -> None:
    with marts.running(running) as desk:
        killed(desk, point, table, running)

        assert_healed(desk)


@scenario(
    "T10",
    "kill -9 of the whole process at four points of an incremental sync whose copies are for any reader, so that an upsert writes the files anew that hold one of its keys",
    holds="one more sync: every table equals the source and nothing is there twice; no file of a copy has a deletion vector, and a reader that knows none reads as many rows",
)
@pytest.mark.parametrize("point", DECISIVE, ids=str)
def test_a_killed_sync_of_copies_for_any_reader(marts: Marts, point: Point) -> None:
    with marts.running("first load") as opened:
        text, also = opened.shop.config.read_text(), "unlisted: ignore\n    defaults: {copies: {readers: any}}"
        opened.shop.config.write_text(text.replace("unlisted: ignore", also, 1))
        desk = Stand(opened.shop, opened.spark)
        desk.land()
        desk.execute(*CHANGE)
        killed(desk, point, "orders", "incremental")

        assert_healed(desk)
        for name in NAMES:
            rows = len(DeltaTable(desk.shop.lake(name)).to_pandas())
            assert rows == desk.source(f"SELECT count(*) FROM {name}")[0][0]


@scenario(
    "T10",
    "kill -9 of a first load when the folder of the table's log is made, and nothing is in it but the beginning of a commit",
    holds="the next sync makes the table and lands every row, once",
)
def test_a_folder_without_a_log_is_no_table(marts: Marts) -> None:
    with marts.running("first load") as desk:
        log = desk.shop.folder / "lake" / "shop" / "public" / "orders" / "_delta_log"
        log.mkdir(parents=True)
        (log / ".00000000000000000000.json.5f3c.tmp").write_text('{"commitInfo"')

        assert_healed(desk)


@scenario(
    "T10",
    "kill -9 of the whole process while the files of an upsert or an append are put together, once before its commit (when the new file lies there "
    "already) and once after it",
    holds="the commit is there or it is not; one more sync: the table equals the source, nothing is there twice, no lease is left",
    long=True,
)
@pytest.mark.parametrize("point", Upkeep, ids=str)
@pytest.mark.parametrize("table", ["orders", "visits"])
def test_a_killed_maintenance_leaves_nothing_to_make_good(marts: Marts, point: Upkeep, table: str) -> None:
    with marts.running("incremental") as desk:
        desk.land()
        before = desk.versions(table)
        killed(desk, point, table, MAINTENANCE)
        commits = len(desk.versions(table)) - len(before)
        assert commits == (point is Upkeep.DONE)

        desk.execute(*CHANGE)
        assert_healed(desk)
