"""The lake is full, vacuumed, restored by hand, written by somebody else; backfills storm."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import pytest
from deltalake import DeltaTable, write_deltalake

from tests.disks import fill
from tests.gameday.deployment import NAMES, Watched
from tests.gameday.game import Game

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

ORDERS = "shop public.orders"


def test_the_disk_of_the_lake_is_full(game: Game) -> None:
    site = game.deployment
    if not os.path.ismount(site.folder / "lake"):
        pytest.skip("the lake has no disk of its own: mounting one needs root")
    rest = site.folder / "lake" / "something else"
    game.breaks("something else fills the disk of the lake", lambda: fill(rest))
    site.move()
    game.fires("TableFailing", ORDERS)
    game.looks("table-failing")
    game.looks("lake-full", "its disk is full")
    game.by_hand("remove what fills the disk", rest.unlink)
    game.fixes("lake-full")
    game.verifies("lake-full")


def test_the_lake_is_vacuumed(game: Game) -> None:
    site = game.deployment

    def vacuum() -> None:
        for name in NAMES:
            table = DeltaTable(str(site.shop.lake(name)))
            table.vacuum(0, dry_run=False, enforce_retention_duration=False)

    game.breaks("somebody removes all files of earlier versions (`VACUUM` with a retention of nothing)", vacuum)
    game.stays_quiet_and_heals()


def test_a_copy_is_restored_by_hand(game: Game) -> None:
    site = game.deployment
    copy, backup = site.shop.lake("orders"), site.folder / "orders.backup"
    shutil.copytree(copy, backup)
    for _ in range(2):
        site.move()
        site.wait(site.is_equal)

    def put_back() -> None:
        shutil.rmtree(copy)
        shutil.move(backup, copy)

    game.breaks("somebody puts a copy back from a backup of its folder that is two syncs old", put_back)
    site.move()
    game.fires("TableFailing", ORDERS)
    game.looks("table-failing")
    game.looks("lake-harmed", "older")
    game.fixes("lake-harmed")
    game.verifies("lake-harmed")


def test_somebody_else_writes_to_a_copy(game: Game) -> None:
    site = game.deployment

    def double() -> None:
        table = DeltaTable(str(site.shop.lake("events")))
        write_deltalake(table, table.to_pyarrow_table().slice(0, 20), mode="append")

    game.breaks("another program appends 20 rows to a copy that are there already", double)
    site.move()
    game.fires("TableFailing", "shop public.events")
    game.looks("table-failing")
    game.looks("lake-harmed")
    game.fixes_another("incremental-assets sync --select shop.public.events --full-refresh --yes")
    game.verifies("lake-harmed")


def test_backfills_storm(game: Game, request: pytest.FixtureRequest) -> None:
    site = game.deployment
    storm: list[subprocess.Popen[bytes]] = []
    request.addfinalizer(lambda: _end(storm))
    game.breaks(
        "four shells backfill everything of a table, over and over, while its rows move",
        lambda: storm.extend(_storm(site) for _ in range(4)),
    )
    site.move()
    site.wait(lambda: site.watch.value("sum(rate(incremental_assets_reread_rows_total[30s]))") or 0)
    game.looks("backfill-storm", "public.orders")
    game.stays_quiet("events", "baskets")
    game.by_hand("end the backfills", lambda: _end(storm))
    game.fixes("backfill-storm")
    game.verifies("backfill-storm")


def _storm(site: Watched) -> subprocess.Popen[bytes]:
    line = "while true; do incremental-assets backfill --select shop.public.orders --from 2020-01-01 --to 2030-01-01 --again; done"
    return subprocess.Popen(
        ["bash", "-c", line], env=site.environment, cwd=site.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def _end(storm: list[subprocess.Popen[bytes]]) -> None:
    while storm:
        os.killpg(storm.pop().pid, signal.SIGTERM)
