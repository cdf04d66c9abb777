"""`pause` and `resume`: what is paused is left alone by every command that would write it, and shown by those that look."""

from __future__ import annotations

import re

import pytest

from incremental_assets.cli.commands.pause import meant, paused
from incremental_assets.core.checks.verdict import of_paused, unanswered
from incremental_assets.core.errors import SelectionError, SourceUnreachable
from incremental_assets.core.model.pause import Pause, Pauses
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check
from tests.cli.conftest import Call, Outside
from tests.ports.test_looks import MONDAY
from tests.scenario import COUNTRIES, ORDERS, order

WHY = ("--reason", "the vendor\n repairs   rows")
SAID = (
    "by .*@.*: the vendor repairs rows; nothing of it is synced before `incremental-assets resume shop.public.orders`"
)


@pytest.fixture
def waiting(synced: Outside) -> Outside:
    """A row of `orders` waits."""
    order(synced.world.database, "alan", synced.world.database.stamp())
    return synced


def test_a_paused_table_is_no_error_beside_others_and_lands_once_it_is_resumed(call: Call, waiting: Outside) -> None:
    before = waiting.world.rows(ORDERS)
    assert call("pause", "public.orders", *WHY).code == 0

    said = call("sync", "--json")

    assert said.code == 0
    assert {name: entry["status"] for name, entry in said.tables.items()} == {
        "public.orders": "paused",
        "public.countries": "idle",
    }
    assert waiting.world.rows(ORDERS) == before
    resumed = call("resume", "public.orders", "--json").document["resumed"]
    assert [(each["table"], each["reason"]) for each in resumed] == [("public.orders", "the vendor repairs rows")]
    assert call("sync", "--json").tables["public.orders"]["status"] == "landed"
    assert len(waiting.world.rows(ORDERS)) == len(before) + 1


def test_where_nothing_else_was_asked_for_the_exit_status_says_that_it_was_left_alone(
    call: Call, waiting: Outside
) -> None:
    call("pause", "shop.public.orders", *WHY)
    said = call("sync", "--select", "public.orders")

    assert said.code == 4
    assert re.search(SAID, said.out)
    assert call("sync", "--select", "public.orders", "--full-refresh", "--yes").code == 4


def test_rows_are_not_read_again_of_a_table_that_is_paused(call: Call, synced: Outside) -> None:
    synced.world.database.update(ORDERS, {"id": 2}, status="changed behind the cursor's back")
    assert call("check", "--select", "public.orders").code == 1
    before = synced.world.rows(ORDERS)
    call("pause", "shop", *WHY)

    assert call("repair", "--select", "public.orders").code == 4
    assert call("backfill", "--select", "public.orders", "--from", "2024-01-01").code == 4
    assert synced.world.rows(ORDERS) == before
    call("resume", "shop")
    assert call("repair", "--select", "public.orders").code == 0
    assert synced.world.rows(ORDERS) != before


def test_a_source_that_is_paused_is_left_alone_while_it_does_not_answer(call: Call, synced: Outside) -> None:
    assert call("pause", "shop", "--reason", "it is moved").code == 0
    synced.broken = SourceUnreachable("the source does not answer")

    said = call("sync", "--json")

    assert said.code == 4
    assert {entry["status"] for entry in said.tables.values()} == {"paused"}
    assert call("resume", "shop").code == 0
    assert call("sync").code == 1


def test_a_table_is_reset_while_it_is_paused(call: Call, synced: Outside) -> None:
    call("pause", "public.orders", *WHY)
    assert call("reset", "--select", "public.orders", "--yes").code == 0
    assert call("sync", "--select", "public.orders").code == 4


def test_those_who_look_see_since_when_by_whom_and_why(call: Call, synced: Outside) -> None:
    call("pause", "public.orders", *WHY)

    entry = call("status", "--json").tables["public.orders"]["paused"]
    assert (entry["reason"], entry["whole_source"]) == ("the vendor repairs rows", False)
    assert call("status", "--json").tables["public.countries"]["paused"] is None
    shown = call("status").out
    assert "the vendor repairs rows; `incremental-assets resume shop.public.orders` lets it go on" in shown
    assert "the vendor repairs rows" in call("plan").out
    metrics = call("metrics").out
    assert 'incremental_assets_paused{source="shop",table="public.orders"} 1' in metrics
    assert 'incremental_assets_paused{source="shop",table="public.countries"} 0' in metrics
    assert 'incremental_assets_paused_timestamp_seconds{source="shop",table="public.orders"}' in metrics
    assert 'incremental_assets_paused_timestamp_seconds{source="shop",table="public.countries"}' not in metrics


def test_a_check_of_a_paused_table_compares_it_and_says_nothing_of_how_late_it_is(call: Call, waiting: Outside) -> None:
    waiting.world.pass_time(86_400)
    assert call("check", "--select", "public.orders").code == 1
    call("pause", "public.orders", *WHY)

    said = call("check", "--select", "public.orders", "--json")

    found = {each["check"]: each for each in said.document["checks"]}
    assert said.code == 0
    assert not found["freshness"]["checked"]
    assert found["reconciliation"]["checked"]
    assert all("paused since" in each["detail"] for each in found.values())


def test_a_name_that_means_nothing_and_a_pause_without_a_reason_are_refused(call: Call, synced: Outside) -> None:
    wrong = call("pause", "public.order", *WHY)
    assert (wrong.code, "did you mean shop.public.orders?" in wrong.err) == (2, True)
    assert call("pause", "shop", "--reason", " \n").code == 2
    assert call("pause", "shop").code == 2
    said = call("resume", "public.orders")
    assert (said.code, "public.orders is not paused; what is paused: nothing" in said.err) == (2, True)


def test_a_table_of_a_paused_source_is_resumed_with_it() -> None:
    pauses = Pauses([Pause("shop", None, "ana", "moved", MONDAY)])
    with pytest.raises(SelectionError, match="`incremental-assets resume shop` ends that, for all of its tables"):
        paused("public.orders", meant("public.orders", ["shop"], [ORDERS]), pauses)


def test_a_name_is_that_of_a_source_before_it_is_a_glob() -> None:
    odd = TableId("shop", "shop", "shop")
    assert meant("shop", ["shop"], [odd]) == ("shop",)
    assert meant("shop.*", ["shop"], [ORDERS, COUNTRIES]) == (COUNTRIES, ORDERS)


def test_a_check_that_failed_says_beside_it_that_the_table_is_paused() -> None:
    failed = unanswered(ORDERS, Check.SCHEMA, "it does not answer")
    pause = Pause("shop", ORDERS, "ana", "moved", MONDAY)

    assert of_paused(failed, None) == failed
    assert of_paused(failed, pause).detail == "it does not answer; paused since 2026-11-23 09:00Z by ana: moved"
    assert not of_paused(failed, pause).passed
