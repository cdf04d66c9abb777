"""What a look refuses is asked for by no run: the ledger says so all the same, so that alerts, `notify` and `status` know."""

from __future__ import annotations

from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.report import Status
from tests.defs.studio import Studio
from tests.defs.watch import Watch, key, settle
from tests.scenario import COUNTRIES, ORDERS, monday, order


def failed(studio: Studio) -> list[tuple[str, Status, str]]:
    reports = [
        event.report
        for event in studio.world.checkpoints.memory.events
        if event.kind is EventKind.FAILED and event.report is not None
    ]
    return [(report.table.name, report.status, report.error or "") for report in reports]


def begun(studio: Studio) -> Watch:
    monday(studio.world.database).abort()
    settle(studio)
    watch = Watch(studio)
    watch.tick()
    assert failed(studio) == []
    return watch


def test_a_table_that_may_not_go_on_counts_as_failing_and_is_recorded_once(studio: Studio) -> None:
    watch = begun(studio)
    studio.world.database.exchange()
    sentence = watch.skipped()
    watch.tick()
    watch.tick()

    (told,) = (each for each in failed(studio) if each[0] == ORDERS.name)
    assert told[1] is Status.FAILED
    assert "another database answers" in told[2]
    assert told[2] in sentence
    assert studio.world.checkpoints.positions()[ORDERS].is_failing


def test_a_table_that_is_gone_from_the_source_counts_as_failing_too(studio: Studio) -> None:
    watch = begun(studio)
    del studio.world.database.tables[COUNTRIES]
    watch.tick()
    watch.tick()

    assert [(name, status) for name, status, _ in failed(studio)] == [(COUNTRIES.name, Status.FAILED)]


def test_once_it_may_go_on_a_run_says_that_it_is_well_though_nothing_has_moved(studio: Studio) -> None:
    watch = begun(studio)
    system = studio.world.database.system
    studio.world.database.exchange()
    watch.tick()
    assert studio.world.checkpoints.positions()[ORDERS].is_failing

    studio.world.database.exchange(system)
    assert sorted(asset for _, _, assets in watch.asked() for asset in assets) == [key("countries"), key("orders")]
    assert studio.run("2024-01-01", tables=[ORDERS], mode="sync").success
    assert studio.run("current", tables=[COUNTRIES], mode="sync").success
    assert not any(position.is_failing for position in studio.world.checkpoints.positions().values())
    assert watch.skipped() == "nothing changed"


def test_what_a_sync_has_recorded_is_not_recorded_again_by_a_look(studio: Studio) -> None:
    watch = begun(studio)
    studio.world.database.exchange()
    order(studio.world.database, "alan", studio.world.database.stamp())
    assert not studio.run("2024-01-01", tables=[ORDERS], mode="sync").success
    before = failed(studio)
    watch.tick()

    assert [each for each in failed(studio) if each[0] == ORDERS.name] == [
        each for each in before if each[0] == ORDERS.name
    ]
