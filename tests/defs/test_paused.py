"""What a person has paused, for the sensor and for runs: left alone, said, and no failure of the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dagster import AssetObservation
from dagster._core.definitions.sensor_definition import SensorExecutionData

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.table_id import TableId
from incremental_assets.defs.tick import Memory
from tests.defs.studio import Studio
from tests.defs.watch import Watch, key, settle
from tests.scenario import COUNTRIES, ORDERS, monday, order

SINCE = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)
SAID = "paused since 2026-11-28 09:30Z by ana@host: the vendor repairs rows"


def pause(studio: Studio, table: TableId | None, reason: str = "the vendor repairs rows") -> None:
    studio.world.memory.pauses[:] = [Pause("shop", table, "ana@host", reason, SINCE)]


def shown(tick: SensorExecutionData) -> list[tuple[str, str | None]]:
    observed = [each for each in tick.asset_events if isinstance(each, AssetObservation)]
    return [(each.asset_key.path[-1], each.description) for each in observed]


def test_a_paused_table_is_not_asked_for_and_the_tick_says_so(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    order(studio.world.database, "alan", studio.world.database.stamp())
    pause(studio, ORDERS)
    watch = Watch(studio)

    assert watch.skipped() == f"shop.public.orders: {SAID}"
    look = studio.world.memory.looks["shop"]
    assert look is not None
    assert ORDERS in look.behind, "it is not in step because nobody looked"
    studio.world.memory.pauses.clear()
    assert [assets for *_, assets in watch.asked()] == [[key("orders")]]


def test_the_others_are_asked_for_beside_it(studio: Studio) -> None:
    monday(studio.world.database)
    pause(studio, ORDERS)
    assert [assets for *_, assets in Watch(studio).asked()] == [[key("countries")]]


def test_a_paused_source_is_not_asked_at_all(studio: Studio) -> None:
    monday(studio.world.database)
    pause(studio, None)
    studio.runtime.broken = SourceUnreachable("asked")

    assert Watch(studio).skipped() == (
        "shop: paused with the whole source shop since 2026-11-28 09:30Z by ana@host: the vendor repairs rows; "
        "`incremental-assets resume shop` lets it go on"
    )


def test_the_page_of_an_asset_shows_a_pause_once_and_once_that_it_is_over(studio: Studio) -> None:
    settle(studio)
    watch = Watch(studio)
    watch.tick()
    pause(studio, ORDERS)
    ticks = [shown(watch.tick()) for _ in range(2)]
    pause(studio, ORDERS, "until Friday")
    ticks.append(shown(watch.tick()))
    studio.world.memory.pauses.clear()
    ticks += [shown(watch.tick()) for _ in range(2)]

    assert ticks == [
        [("orders", SAID)],
        [],
        [("orders", SAID.replace("the vendor repairs rows", "until Friday"))],
        [("orders", "no longer paused")],
        [],
    ]


def test_what_was_shown_of_a_pause_survives_in_the_cursor() -> None:
    memory, news = Memory().of_paused({ORDERS: SAID}, [ORDERS, COUNTRIES])
    assert news == {ORDERS: SAID}

    again = Memory.read(memory.failed("no answer", timedelta(seconds=1), SINCE).write())

    assert again.of_paused({ORDERS: SAID}, [ORDERS, COUNTRIES])[1] == {}
    assert again.of_paused({}, [ORDERS, COUNTRIES])[1] == {ORDERS: "no longer paused"}


def test_a_sync_that_meets_a_paused_table_lands_the_others(studio: Studio) -> None:
    monday(studio.world.database)
    pause(studio, COUNTRIES)
    before = studio.world.rows(COUNTRIES)

    assert studio.run("current", mode="sync", tables=(COUNTRIES,)).success
    assert studio.run("2023-12-01", "2024-01-01", mode="sync").success
    assert studio.world.rows(COUNTRIES) == before
    assert len(studio.world.rows(ORDERS)) == 4
    assert studio.world.checkpoints.kinds(COUNTRIES) == []


def test_a_backfill_of_a_paused_table_fails_by_name(studio: Studio) -> None:
    settle(studio)
    pause(studio, ORDERS)

    assert not studio.run("2024-01-01").success
