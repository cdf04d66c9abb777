"""What a tick leaves in the checkpoint database of a source at which nothing happens."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from dagster import DagsterInstance

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.look import Look
from tests.defs.studio import TERMS, Studio, opened
from tests.defs.watch import Watch, settle
from tests.scenario import COUNTRIES, ORDERS, monday, order


def kept(studio: Studio) -> Look | None:
    return studio.world.checkpoints.memory.looks["shop"]


def behind(studio: Studio) -> set[str]:
    look = kept(studio)
    assert look is not None
    return {table.name for table in look.behind}


def test_a_look_tells_which_tables_wait_and_of_one_that_stands_still_that_it_does(studio: Studio) -> None:
    monday(studio.world.database).abort()
    Watch(studio).tick()
    assert behind(studio) == {ORDERS.name, COUNTRIES.name}

    settle(studio)
    Watch(studio).tick()
    # Read whole once a day: nobody looked at it.
    assert behind(studio) == {COUNTRIES.name}

    order(studio.world.database, "alan", studio.world.database.stamp())
    studio.world.pass_time(60)
    Watch(studio).tick()
    assert behind(studio) == {ORDERS.name, COUNTRIES.name}


def test_a_transaction_that_holds_watermarks_back_is_kept_with_its_beginning(studio: Studio) -> None:
    held = monday(studio.world.database)
    begun = studio.world.database.clock
    Watch(studio).tick()

    look = kept(studio)
    assert look is not None
    assert look.held_back_since is not None
    assert look.held_back_since <= begun
    held.abort()


def test_a_source_that_is_away_is_kept_as_such(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = opened(tmp_path, instance)
    Watch(studio).tick()
    assert kept(studio) is not None

    studio.runtime.broken = SourceUnreachable("shop: localhost:5432 does not answer")
    Watch(studio).tick()

    assert kept(studio) is None


def test_a_look_brings_the_objectives_by_which_lateness_is_recorded(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = opened(tmp_path, instance, TERMS + "      slo: {freshness: 95% within 5m}\n")
    Watch(studio).tick()

    look = kept(studio)
    assert look is not None
    assert look.within == {ORDERS: timedelta(minutes=5)}
