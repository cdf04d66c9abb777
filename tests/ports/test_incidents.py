"""What channels were notified of: of two processes one says it, once, and once that it is over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.checkpoints.tables import incidents
from incremental_assets.core.model.incident import About, Incident, News
from incremental_assets.core.model.schema_change import Change, SchemaChange
from incremental_assets.core.model.table_id import TableId
from tests.ports.stories import DOTTED, ORDERS, failed, landed, sync
from tests.ports.test_kept import tell

FAILS = Incident(About.FAILURE, "shop", ORDERS, "orders fails")
DOWN = Incident(About.SOURCE_DOWN, "shop", None, "shop is down")
CHANGED = Incident(About.SCHEMA_CHANGE, "shop", DOTTED, "a column came", "run-1")


@pytest.fixture
def other(checkpoints: SqlCheckpoints, url: str) -> Iterator[SqlCheckpoints]:
    """Another process."""
    door = SqlCheckpoints(url)
    yield door
    door.close()


def claimed(door: SqlCheckpoints, *found: Incident, channel: str = "oncall", paused: TableId | None = None) -> News:
    return door.claim(channel, found, lambda _, table: table is not None and table == paused)


def say(door: SqlCheckpoints, *found: Incident) -> News:
    news = claimed(door, *found)
    door.said("oncall", news)
    return news


def pass_two_minutes(door: SqlCheckpoints) -> None:
    with door._database.transaction(writes=True) as connection:
        earlier = door._database.now(-timedelta(minutes=2, seconds=1))
        connection.execute(update(incidents).where(incidents.c.claimed_at.is_not(None)).values(claimed_at=earlier))


def kept(door: SqlCheckpoints) -> int:
    with door._database.transaction() as connection:
        return len(connection.execute(select(incidents)).all())


def test_an_incident_is_said_once_and_once_that_it_is_over(checkpoints: SqlCheckpoints) -> None:
    assert say(checkpoints, FAILS, DOWN) == News((DOWN, FAILS), ()), "a source stands before its tables"
    assert not say(checkpoints, FAILS, DOWN)
    assert say(checkpoints, DOWN) == News((), (FAILS,))
    assert say(checkpoints) == News((), (DOWN,))
    assert not say(checkpoints)
    assert kept(checkpoints) == 0
    assert say(checkpoints, FAILS) == News((FAILS,), ()), "it is another one"


def test_of_two_processes_one_says_it(checkpoints: SqlCheckpoints, other: SqlCheckpoints) -> None:
    news = claimed(checkpoints, FAILS)
    assert news == News((FAILS,), ())
    assert not claimed(other, FAILS)
    checkpoints.said("oncall", news)
    assert not claimed(other, FAILS)

    assert claimed(other) == News((), (FAILS,))
    assert not claimed(checkpoints)


def test_each_channel_is_notified_of_its_own(checkpoints: SqlCheckpoints) -> None:
    say(checkpoints, FAILS)
    assert claimed(checkpoints, FAILS, channel="team") == News((FAILS,), ())


def test_what_a_process_did_not_get_said_is_said_by_another_after_two_minutes(
    checkpoints: SqlCheckpoints, other: SqlCheckpoints
) -> None:
    claimed(checkpoints, FAILS)
    pass_two_minutes(checkpoints)
    assert say(other, FAILS) == News((FAILS,), ())

    claimed(checkpoints)
    pass_two_minutes(checkpoints)
    assert say(other) == News((), (FAILS,))


def test_what_was_over_before_it_could_be_said_is_not_said(checkpoints: SqlCheckpoints) -> None:
    claimed(checkpoints, FAILS)
    pass_two_minutes(checkpoints)
    assert not claimed(checkpoints)
    assert kept(checkpoints) == 0


def test_what_ends_while_somebody_says_that_it_began_is_over_afterwards(checkpoints: SqlCheckpoints) -> None:
    news = claimed(checkpoints, FAILS)
    assert not claimed(checkpoints)
    checkpoints.said("oncall", news)
    assert claimed(checkpoints) == News((), (FAILS,))


def test_what_comes_back_before_its_end_was_said_goes_on(checkpoints: SqlCheckpoints) -> None:
    say(checkpoints, FAILS)
    claimed(checkpoints)
    pass_two_minutes(checkpoints)
    assert not claimed(checkpoints, FAILS)


def test_nothing_of_a_change_of_columns_would_be_over(checkpoints: SqlCheckpoints) -> None:
    assert say(checkpoints, CHANGED) == News((CHANGED,), ())
    assert not say(checkpoints, CHANGED)
    assert not say(checkpoints)
    assert kept(checkpoints) == 0


def test_a_pause_neither_begins_nor_ends_an_incident(checkpoints: SqlCheckpoints) -> None:
    say(checkpoints, FAILS)
    assert not claimed(checkpoints, paused=ORDERS)
    assert not claimed(checkpoints, FAILS)
    assert claimed(checkpoints) == News((), (FAILS,))


def test_the_situation_has_what_an_hour_and_a_day_have_brought(checkpoints: SqlCheckpoints) -> None:
    from tests.cli.test_metrics import told

    added = SchemaChange("colour", Change.ADDED, None, "string", "schema_changes: evolve")
    tell(checkpoints, *sync(0), ago=timedelta(hours=2))
    tell(checkpoints, told(landed(1), schema_changes=(added,)))
    tell(checkpoints, failed())

    found = checkpoints.situation()

    assert found is not None
    assert found.standings[ORDERS].health == "error"
    assert found.changed == {ORDERS: ("run", ("colour: added (string), by schema_changes: evolve",))}
    assert found.quarantined == {}
