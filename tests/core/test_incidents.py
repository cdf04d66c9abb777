"""Which incidents there are, by what the checkpoint database knows, and how they are said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import ChannelConfig, Reference
from incremental_assets.core.model.incident import About, Incident, News
from incremental_assets.core.model.look import Looked
from incremental_assets.core.model.pause import Pause, Pauses
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.operations.incidents import Situation, incidents, message
from incremental_assets.core.operations.standing import Standing
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.report import Status
from tests.core.mistakes import NOW as READ_AT
from tests.core.mistakes import only_problem
from tests.ports.stories import ORDERS, report

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
ALL = ChannelConfig("oncall", Reference("env", "ONCALL_URL"))
HOUR = timedelta(hours=1)


def standing(status: Status = Status.LANDED, *, drift: int = 0, landed: timedelta = HOUR) -> Standing:
    told = Verified(None, (Drifted(Window(None, None), drift),) if drift else ())
    return Standing(
        ORDERS, Checkpoint(last_report=report(status)), verified=told, landed_at=NOW - landed, ended_at=NOW - landed
    )


def situation(of: Standing, **more: object) -> Situation:
    return replace(Situation(NOW, {ORDERS: of}), **more)  # type: ignore[arg-type]


def said(found: Situation, channel: ChannelConfig = ALL, tables: tuple[TableId, ...] = (ORDERS,)) -> list[str]:
    return [each.sentence for each in incidents(found, tables, channel)]


def test_a_table_in_order_is_no_incident() -> None:
    assert said(situation(standing())) == []


@pytest.mark.parametrize(("status", "what"), [(Status.FAILED, "failed"), (Status.REFUSED, "was refused")])
def test_a_table_that_fails_is_one_whatever_becomes_of_the_run(status: Status, what: str) -> None:
    assert said(situation(standing(status))) == [
        f"shop.public.orders: its last sync {what}; `incremental-assets status --select shop.public.orders` says why"
    ]


def test_drift_quarantine_and_changed_columns_are_incidents() -> None:
    found = situation(
        standing(drift=3), quarantined={ORDERS: 7}, changed={ORDERS: ("run-1", ("colour: added (string), by evolve",))}
    )
    assert said(found) == [
        "shop.public.orders differs from its source; `incremental-assets check --select shop.public.orders` names the rows",
        "shop.public.orders: rows went to quarantine in place of the copy",
        "shop.public.orders: colour: added (string), by evolve",
    ]
    assert [each.mark for each in incidents(found, [ORDERS], ALL)] == ["", "", "run-1"]


def test_a_source_is_down_once_it_has_not_answered_for_five_minutes() -> None:
    def down(since: timedelta | None, failed: timedelta) -> list[str]:
        looked = Looked(None if since is None else NOW - since, NOW - failed)
        return said(situation(standing(), looks={"shop": looked}))

    assert down(timedelta(minutes=3), timedelta()) == []
    assert down(timedelta(minutes=3), timedelta(minutes=9)) == [], "it answers again"
    assert down(timedelta(minutes=6), timedelta()) == ["shop has not answered since 2026-11-28 11:54Z"]
    assert down(None, timedelta()) == ["shop has not answered"]


def test_nothing_landed_for_as_long_as_the_channel_says() -> None:
    assert said(situation(standing(landed=7 * HOUR))) == []
    channel = replace(ALL, about=frozenset(), stalled=6 * HOUR)
    assert said(situation(standing(landed=5 * HOUR)), channel) == []
    assert said(situation(standing(landed=7 * HOUR)), channel) == [
        "shop.public.orders: nothing has landed for 6h, the last at 2026-11-28 05:00Z"
    ]


def test_a_channel_hears_of_what_it_is_about() -> None:
    found = situation(standing(Status.FAILED, drift=3))
    assert [each.about for each in incidents(found, [ORDERS], replace(ALL, about=frozenset({About.DRIFT})))] == [
        About.DRIFT
    ]


@pytest.mark.parametrize("table", [ORDERS, None], ids=["table", "source"])
def test_what_a_person_has_paused_is_no_incident(table: TableId | None) -> None:
    pauses = Pauses([Pause("shop", table, "ana", "repairs", NOW)])
    assert said(situation(standing(Status.FAILED, drift=3), pauses=pauses)) == []


def test_a_table_that_is_configured_no_longer_is_none() -> None:
    assert said(situation(standing(Status.FAILED)), tables=()) == []


def test_a_message_names_twenty_and_counts_the_others() -> None:
    many = tuple(Incident(About.FAILURE, "shop", ORDERS, f"table {number} fails") for number in range(30))

    title, text = message(News(many, (Incident(About.DRIFT, "shop", ORDERS, "orders differ"),)))

    assert title == "incremental-assets: 30 incidents, 1 over"
    assert text.splitlines()[0] == "table 0 fails"
    assert len(text.splitlines()) == 21
    assert text.endswith("and 11 more")
    assert message(News((), many[:1])) == ("incremental-assets: 1 over", "over: table 0 fails")


FILE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
notify:
  oncall: {url: {env: ONCALL_URL}, about: [failure, source_down], stalled: 6h}  #!
  team: {url: {file: ./team}}
sources:
  shop: {dialect: postgresql, host: localhost, database: shop, user: reader}
"""


def test_channels_are_as_they_are_configured(tmp_path: Path) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(FILE)

    oncall, team = load(file, now=READ_AT).notify

    assert oncall == ChannelConfig(
        "oncall",
        Reference("env", "ONCALL_URL"),
        frozenset({About.FAILURE, About.SOURCE_DOWN}),
        timedelta(hours=6),
        line=4,
    )
    assert team.url == Reference("file", str(tmp_path / "team"))
    assert set(team.about) == {*About} - {About.STALLED}
    assert load(file, now=READ_AT).secrets == ("ONCALL_URL",)


@pytest.mark.parametrize(
    ("right", "wrong", "cure"),
    [
        ("{env: ONCALL_URL}", "json://token@host", "a secret is never written in this file"),
        ("about: [failure, source_down], stalled: 6h", "about: [stalled]", "write `stalled: 6h` beside it"),
        ("about: [failure", "about: [failures", "failure"),
        ("stalled: 6h", "still: 6h", "stalled"),
    ],
)
def test_mistakes_in_who_is_notified_are_named(tmp_path: Path, right: str, wrong: str, cure: str) -> None:
    assert cure in only_problem(tmp_path, FILE.replace(right, wrong)).cure
