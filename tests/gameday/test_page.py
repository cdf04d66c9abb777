"""The page of the games is what their run has recorded, and says which games have not been played."""

from __future__ import annotations

import json
from pathlib import Path

from incremental_assets.core.operations.rules import alerts
from tests.gameday.hurried import hurried, shortened
from tests.gameday.page import page, there

DOCS = Path(__file__).parents[2] / "docs"
GAMES = json.loads((DOCS / "gameday.json").read_text(encoding="utf-8"))


def test_the_page_is_what_was_recorded() -> None:
    assert (DOCS / "gameday.md").read_text(encoding="utf-8") == page(GAMES)


def test_every_game_was_healed() -> None:
    assert [name for name, each in GAMES.items() if each["failed"]] == []


def test_what_was_played_is_there() -> None:
    assert GAMES.keys() <= there()


def test_rules_in_a_hurry_differ_in_their_durations_alone() -> None:
    assert shortened("time() - x > 2 * 86400 unless y") == "time() - x > 2 * 86400 / 60 unless y"
    assert shortened("increase(x[1h]) > 0.5") == "increase(x[1m]) > 0.5"
    assert shortened("x > 5 * 1024 ^ 3") == "x > 5 * 1024 ^ 2"
    told = [rule for group in hurried()["groups"] for rule in group["rules"] if "alert" in rule]
    assert len(told) == len([*alerts()])
    assert all("for" not in rule or rule["for"].endswith(("s", "m")) for rule in told)
