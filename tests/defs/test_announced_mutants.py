"""Known-bad variants of what is announced to Dagster: each leaves one thought out, and the story that was written for it finds it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

import pytest

from incremental_assets.core.checks import shown
from incremental_assets.defs import announced, earlier_landings
from tests.core import test_shown
from tests.defs import test_announced
from tests.defs.test_announced import killed, statements  # noqa: F401 - fixtures of the stories
from tests.model.mutants.variant import Variant, without_the_thought

pytestmark = pytest.mark.acceptance

Story = Callable[..., None]

VARIANTS: Mapping[str, tuple[Variant, Story]] = {
    "what has landed was announced": (
        without_the_thought(announced, "Announced.behind", ("kept.get(_name(table)) != mark", "False")),
        test_announced.test_what_a_killed_run_had_landed_is_announced_by_the_next_tick,
    ),
    "a run announces what it has landed itself": (
        without_the_thought(earlier_landings, "EarlierLandings.after", ("spec.id not in self.behind", "True")),
        test_announced.test_what_a_killed_run_had_landed_is_announced_with_what_comes_next,
    ),
    "a run that a person starts has landed one partition": (
        without_the_thought(
            earlier_landings, "EarlierLandings.begun", ("for spec in specs} if is_by_hand else left", "for spec in ()}")
        ),
        test_announced.test_a_run_that_a_person_starts_on_one_partition_shows_the_others_that_it_lands,
    ),
    "a mark is one of a sequence, whatever the grid": (
        without_the_thought(announced, "mark_of", ("{scheme.name} ", "")),
        test_announced.test_a_grid_that_is_another_one_now_shows_what_had_landed,
    ),
    "what a run is at work on may be announced twice": (
        without_the_thought(announced, "in_runs", ("if any(", "if False and any(")),
        test_announced.test_what_a_run_is_still_at_work_on_is_left_to_it,
    ),
    "rows begin where they begin in the source": (
        without_the_thought(announced, "CatchUp._begins", ("self.ports.auditor.lowest(spec)", "None")),
        test_announced.test_rows_that_their_source_no_longer_has_are_shown_in_a_new_home,
    ),
    "numbers that lie far apart have no keys": (
        without_the_thought(announced, "CatchUp._laid", ("not is_too_wide", "is_too_wide")),
        test_announced.test_numbers_that_lie_far_apart_have_their_open_keys_in_a_new_home,
    ),
    "keys of numbers are known wherever they are announced": (
        without_the_thought(announced, "CatchUp.table", ("offer(self", "(lambda *_: None)(self")),
        test_announced.test_numbers_have_their_keys_in_a_new_home,
    ),
    "terms change nothing of what has landed": (
        without_the_thought(shown, "landed_keys", ("    check_terms(spec, state)\n", "")),
        test_announced.test_a_table_on_other_terms_is_left_to_its_sync,
    ),
    "what was announced is asked of each table by itself": (
        without_the_thought(
            announced,
            "Announced.behind",
            (
                "get_cursor_values({_name(table) for table in landed})",
                "get_cursor_values({_name(table) for table in landed}) and {key: value for table in landed for key, value in self.instance.daemon_cursor_storage.get_cursor_values({_name(table)}).items()}",
            ),
        ),
        test_announced.test_a_lost_memory_costs_one_statement_for_all_tables,
    ),
    "a partition with a gap is one that has landed": (
        without_the_thought(shown, "landed_keys", ("if not gaps(covered, each)", "")),
        test_shown.test_a_partition_with_a_gap_is_not_shown,
    ),
    "what lies above the watermark has a gap": (
        without_the_thought(
            shown, "landed_keys", ("each if watermark is None else each.clamp_upper(watermark)", "each")
        ),
        test_shown.test_from_the_first_row_to_the_last_one_with_the_partition_that_is_still_open,
    ),
    "a row of the future has a partition of its own": (
        without_the_thought(shown, "_until", ("now if state.clock is None else min(now, state.clock)", "now")),
        test_shown.test_rows_of_the_future_are_shown_by_the_partition_that_was_open_when_they_landed,
    ),
    "keys of numbers begin at the first row": (
        without_the_thought(shown, "_between", ("first = max(first, ", "first = min(first, ")),
        test_shown.test_numbers_are_shown_in_the_keys_that_there_are_or_from_the_first_one_on,
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_is_found(variant: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    undone, story = VARIANTS[variant]
    given = {name: request.getfixturevalue(name) for name in inspect.signature(story).parameters}
    # By its name, as those who ask have it.
    with undone():
        monkeypatch.setattr(announced, "landed_keys", shown.landed_keys)
        monkeypatch.setattr(test_shown, "landed_keys", shown.landed_keys)
        with pytest.raises(AssertionError):
            story(**given)
