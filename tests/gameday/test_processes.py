"""What runs is killed: the daemon, a run, the engine, the exporter, the database."""

from __future__ import annotations

import pytest

from tests.gameday.game import Game

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]


def test_the_source_is_down(game: Game) -> None:
    site = game.deployment
    game.breaks("the database is stopped", site.server.stop)
    game.fires("SourceDown", "shop")
    game.looks("source-down", "the database does not answer")
    game.by_hand("start the database", site.server.start)
    game.verifies("source-down")


def test_the_daemon_is_killed(game: Game) -> None:
    site = game.deployment
    game.breaks("kill -9 of Dagster's daemon, which nobody starts again", lambda: site.kill("daemon"))
    game.fires("NobodyLooks", "shop")
    game.looks("nobody-looks")
    game.by_hand("start the daemon's service", lambda: site.start("daemon"))
    game.verifies("nobody-looks")


def test_the_exporter_is_killed(game: Game) -> None:
    site = game.deployment
    game.breaks("kill -9 of the exporter, which nobody starts again", lambda: site.kill("exporter"))
    game.fires("ExporterDown", "")
    game.looks("exporter-down", "incremental_assets_build_info")
    game.by_hand("start the exporter's service", lambda: site.start("exporter"))
    game.verifies("exporter-down")


def test_a_run_is_killed(game: Game) -> None:
    site = game.deployment

    def kill_a_run() -> None:
        site.execute("INSERT INTO orders (id, note) SELECT n, 'many' FROM generate_series(100001, 110000) n")
        site.kill_run()

    game.breaks("kill -9 of a run and all its processes, while it syncs", kill_a_run)
    game.stays_quiet_and_heals()


def test_a_run_is_killed_and_the_daemon_with_it(game: Game) -> None:
    site = game.deployment

    def kill_both() -> None:
        site.execute("INSERT INTO orders (id, note) SELECT n, 'many' FROM generate_series(200001, 210000) n")
        site.kill_run()
        site.kill("daemon")

    game.breaks("kill -9 of a run while it syncs, and of the daemon, so that no run goes on", kill_both)
    game.fires("RunInterrupted", "shop public.orders")
    game.looks("run-interrupted", "interrupted")
    game.fixes("run-interrupted")
    game.by_hand("start the daemon's service", lambda: site.start("daemon"))
    game.verifies("run-interrupted")


def test_the_engine_is_killed(game: Game) -> None:
    site = game.deployment
    game.breaks("kill -9 of the engine", site.kill_engine)
    game.stays_quiet_and_heals()
    site.run("incremental-assets engine start")
