"""Every known-bad variant is killed: by the model, or by the story that was written when it was found. Seed and seconds are in the fault report."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from incremental_assets.core.errors import CommitMissing, IncrementalAssetsError
from incremental_assets.core.model.column import Sequence
from incremental_assets.core.model.deletes import Deletes
from incremental_assets.core.model.stamping import Stamp, Stamping
from incremental_assets.core.model.table import NullPolicy, Strategy
from incremental_assets.core.planning.plan import Mode
from tests.adapters.databases import test_settings, test_sqlite_cursor_values, test_sqlite_files
from tests.core import (
    test_altered,
    test_bound,
    test_clocks,
    test_collation_key,
    test_column_identity,
    test_compact,
    test_deletes,
    test_deletes_marked,
    test_deletes_refused,
    test_differing,
    test_doubts,
    test_first_load,
    test_key_parts,
    test_last_read,
    test_late_commits,
    test_loading,
    test_lost_checkpoints,
    test_outliers,
    test_parts,
    test_plan_idle,
    test_recorded_late,
    test_recovery,
    test_repair_deletes,
    test_repair_verified,
    test_rollback,
    test_stamps,
    test_sync,
    test_sync_kills,
    test_two_runs,
    test_unfit_rows,
    test_ways_on,
)
from tests.model.keeping import Keeping
from tests.model.mutants import MUTANTS, Mutant
from tests.model.protocol import Protocol
from tests.profiles import STEPS
from tests.scenario import orders

pytestmark = pytest.mark.acceptance

SEARCH = settings(
    max_examples=60,
    stateful_step_count=STEPS,
    derandomize=False,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    report_multiple_bugs=False,
)
SEEDS = (1, 2, 3, 4)

UPSERT, APPEND = orders(Strategy.UPSERT), orders(Strategy.APPEND)


def ranged(story: Callable[..., None], *given: object) -> Callable[[], None]:
    """The story of a load of which each run reads one range."""

    def told() -> None:
        with test_loading.one_at_a_time():
            story(*given)

    return told


STORIES: dict[str, Callable[[], None]] = {
    "a range of a first load moves its watermark on": ranged(
        test_loading.test_what_is_written_while_it_goes_on_is_there_at_its_end, test_loading.LARGE
    ),
    "what is held back of a range is left to nobody": ranged(
        test_loading.test_what_a_longer_holdback_keeps_from_later_ranges_is_read_once_it_is_let_go
    ),
    "a load that goes on has read its table": ranged(
        test_loading.test_while_it_goes_on_nothing_is_known_to_have_been_read
    ),
    "a backfill between two ranges lands nothing": ranged(
        test_loading.test_what_a_backfill_or_a_repair_lands_between_two_ranges_lands_once,
        test_loading.LARGE,
        Mode.BACKFILL,
    ),
    "the highest cursor of a backfill between two ranges counts for nothing": ranged(
        test_loading.test_what_a_backfill_or_a_repair_lands_between_two_ranges_lands_once,
        test_loading.APPENDED,
        Mode.BACKFILL,
    ),
    "the first range has read all that its snapshot shows": ranged(
        test_loading.test_what_is_written_while_it_goes_on_is_there_at_its_end, test_loading.LARGE
    ),
    "a place means the same in the order of any key": ranged(
        test_loading.test_where_another_key_is_named_meanwhile_all_is_read_and_compared
    ),
    "a column that comes in the middle of a load is there from its first range on": ranged(
        test_loading.test_a_column_that_comes_meanwhile_has_its_values_in_every_row
    ),
    "what the last range saw of the definition is what all rows were read by": ranged(
        test_loading.test_a_table_that_is_altered_meanwhile_is_compared_with_what_had_landed_before
    ),
    "a file with a dead process's journal is no file": lambda: (
        test_sqlite_files.test_a_journal_from_which_the_file_has_to_be_put_right_is_told_and_what_it_names_is_the_cure(
            Path(tempfile.mkdtemp())
        )
    ),
    "a table that a module makes is none": lambda: (
        test_sqlite_files.test_virtual_tables_are_tables_and_those_that_hold_what_they_show_are_not(
            Path(tempfile.mkdtemp())
        )
    ),
    "a cursor of times that holds numbers holds nothing": lambda: (
        test_sqlite_cursor_values.test_a_time_cursor_that_holds_numbers_is_named_with_what_to_declare(
            Path(tempfile.mkdtemp()), [1772359200], NullPolicy.FAIL
        )
    ),
    "a column is read by its declared type alone": lambda: (
        test_sqlite_cursor_values.test_texts_of_moments_are_a_time_cursor_where_that_is_declared(
            Path(tempfile.mkdtemp()), "TEXT", " STRICT"
        )
    ),
    "a folder into which nobody may write is no reason": lambda: (
        test_sqlite_cursor_values.test_a_log_that_is_read_through_a_file_which_may_not_be_made_is_told_with_the_folder(
            Path(tempfile.mkdtemp())
        )
    ),
    "one grid has to cover the numbers that stand for none": test_outliers.test_a_first_sync_with_outliers_touches_the_bulk_and_both_open_ends,
    "the bulk is where the first rows lie": test_outliers.test_sentinels_leave_no_empty_partitions_beside_the_bulk,
    "the last number there is says how far the others have come": lambda: (
        test_outliers.test_a_row_with_the_last_number_there_is_hides_what_comes_and_no_run_is_settled(2**63 - 1, True)
    ),
    "what a session has set is not read back": lambda: (
        test_settings.test_a_session_whose_setting_does_not_stay_is_refused("sql_select_limit")
    ),
    "a setting that nobody tells is taken for ours": test_settings.test_a_session_of_which_a_proxy_tells_nothing_is_refused,
    "the first settings are set after the question how the session is set": test_settings.test_a_limit_that_allows_no_rows_does_not_hide_how_the_session_is_set,
    "that a read is dirty is believed": test_settings.test_a_dirty_read_that_would_show_what_is_committed_alone_is_refused,
    "the clock of a session is believed": test_settings.test_a_session_whose_clock_stands_still_is_refused,
    "a list of transactions is whole however long it is": lambda: (
        test_settings.test_a_run_that_may_not_see_every_transaction_says_so_and_believes_none_of_them(
            pytest.MonkeyPatch()
        )
    ),
    "as many rows came as came": test_settings.test_an_answer_with_fewer_rows_than_there_are_is_refused_with_both_numbers,
    "the rows of a view may always be others": test_settings.test_a_view_whose_rows_come_and_go_by_the_time_is_refused_only_where_two_counts_agree,
    "a row whose text the server cannot make has no hash": (
        test_settings.test_a_sum_in_which_a_hash_is_missing_is_refused_with_the_setting_its_value_and_the_cure
    ),
    "a fingerprint outlives a reset": test_plan_idle.test_a_fingerprint_that_does_not_reach_down_to_what_would_be_read_says_nothing,
    "keys are compared with =": test_unfit_rows.test_a_row_without_a_key_goes_to_quarantine_once_and_the_others_land,
    "what goes to quarantine leaves the copy as it is": test_unfit_rows.test_a_row_that_can_no_longer_land_leaves_an_upsert_copy_and_lands_again_when_it_can,
    "what the catalogue says of a table is not asked for": (
        test_altered.test_after_an_alteration_what_differs_is_read_in_one_commit_and_the_run_says_so
    ),
    "an alteration is known once it was seen, and not once the rows were compared": (
        test_altered.test_what_was_altered_while_a_window_was_read_again_is_found_by_the_next_sync
    ),
    "a comparison reads what was written since the last read alone": (
        test_altered.test_after_an_alteration_what_differs_is_read_in_one_commit_and_the_run_says_so
    ),
    "columns are known by their names alone": lambda: (
        test_column_identity.test_a_column_with_the_name_of_one_that_is_gone_stops_the_table_until_all_is_read_again(
            back=True
        )
    ),
    "a transaction that was under way at the last read counts as read": lambda: (
        test_last_read.test_what_is_new_is_read_alone_until_the_transaction_ends(UPSERT)
    ),
    "what was read before the server crashed is believed after it": (
        test_last_read.test_a_crash_that_gives_numbers_of_transactions_out_again_has_all_read_again
    ),
    "of a table without an enforced key what was read is not read again": (
        test_last_read.test_of_equal_rows_without_a_key_each_lands
    ),
    "the highest number is settled when it is seen": test_late_commits.test_numbers_that_commit_out_of_order_all_land,
    "a run that comes to nothing does not keep that the clock was put back": lambda: (
        test_clocks.test_a_run_that_is_killed_keeps_that_the_clock_was_put_back_although_it_is_put_forward_before_the_next_looks(
            "before snapshot"
        )
    ),
    "that the clock was put back matters to one run": (
        test_clocks.test_a_transaction_that_was_open_when_the_clock_was_put_back_is_waited_for_until_it_ends
    ),
    "a transaction that began later than now is like any other": (
        test_clocks.test_a_first_sync_waits_for_a_transaction_that_began_later_than_now
    ),
    "numbers are settled by the clock of the look alone": (
        test_clocks.test_a_number_that_was_drawn_before_the_clock_was_put_back_lands_although_it_commits_long_after
    ),
    "numbers are settled by who has a transaction id": (
        test_late_commits.test_a_number_that_was_drawn_and_not_written_yet_is_waited_for
    ),
    "a session that stands still before it shows its stamp holds nothing": (
        test_late_commits.test_a_session_that_stands_still_before_it_shows_its_stamp_is_waited_for
    ),
    "a session that is called as ours are is one of ours": (
        test_late_commits.test_a_session_that_is_called_as_ours_are_and_has_written_nothing_yet_is_waited_for
    ),
    "a number settles before its row is on disk": (
        test_late_commits.test_numbers_that_a_crash_gives_out_again_land_although_they_had_been_read
    ),
    "a number that was not on disk outlives a crash": lambda: (
        test_bound.test_what_was_not_on_disk_before_a_crash_counts_no_more("crash")
    ),
    "what is held back has a fingerprint too": test_unfit_rows.test_rows_that_were_held_back_land_although_nobody_touched_them_since,
    "a number that repeats settles above itself": test_late_commits.test_a_row_that_gets_the_highest_number_after_it_has_settled_lands_once_and_then_the_table_is_idle,
    "no fence at takeover": test_recovery.test_a_sleeper_that_wakes_just_after_it_was_looked_for_lands_nothing_beside_its_successor,
    "a fence that a dead run's last commit overtakes is not written again": lambda: (
        test_recovery.test_a_commit_that_an_engine_makes_for_a_dead_run_needs_no_second_sync(
            APPEND, "before fence commit"
        )
    ),
    "the fence carries the state from before": lambda: (
        test_lost_checkpoints.test_a_checkpoint_table_lost_after_a_takeover_is_rebuilt_from_what_landed_and_not_from_before(
            APPEND
        )
    ),
    "a checkpoint table is believed, however old": lambda: (
        test_lost_checkpoints.test_a_checkpoint_table_restored_from_any_older_copy_loses_nothing_and_lands_nothing_twice(
            APPEND, 3
        )
    ),
    "maintenance writes down what an older checkpoint table believes": test_compact.test_what_an_older_checkpoint_table_believes_is_not_written_into_the_lake,
    "a lost checkpoint table is rebuilt without a fence": lambda: (
        test_lost_checkpoints.test_a_sleeper_with_a_higher_number_than_the_lake_has_seen_is_fenced_when_a_lost_checkpoint_table_is_rebuilt(
            Mode.SYNC, None
        )
    ),
    "a partition that joins is read from the watermark on": lambda: (
        test_parts.test_an_attached_partition_lands_whole_and_once(test_parts.two_orders(), UPSERT)
    ),
    "prepared transactions are not asked for": (
        test_late_commits.test_a_prepared_transaction_keeps_the_watermark_and_its_rows_land_when_it_commits
    ),
    "only the source's own clock tells that it was put back": (
        test_clocks.test_a_clock_that_has_caught_up_since_is_found_out_by_ours
    ),
    "the bound is asked inside the snapshot": lambda: (
        test_late_commits.test_what_commits_while_a_sync_runs_lands_with_this_one_or_the_next(UPSERT, "in the snapshot")
    ),
    "a staged batch is not verified": test_sync.test_a_batch_that_is_not_whole_is_noticed_and_its_sequence_never_used_again,
    "a staged batch is discarded after its sequence was closed": lambda: (
        test_sync_kills.test_a_sync_killed_at_any_moment_is_made_good_by_the_next(UPSERT, test_sync_kills.first_load)
    ),
    "a commit that raised nothing has landed": lambda: (
        test_two_runs.test_a_run_whose_lease_was_taken_says_so_and_leaves_nothing_behind("before commit", CommitMissing)
    ),
    "the rows of a first load are committed without a sequence": lambda: (
        test_first_load.test_a_load_that_sleeps_past_its_lease_replaces_nothing_when_it_wakes(
            test_first_load.BIG, "before load commit"
        )
    ),
    "the rows of a first load are not counted before they get a position": lambda: (
        test_first_load.test_a_load_that_does_not_add_up_gets_no_position_and_the_next_one_replaces_it(
            test_first_load.BIG
        )
    ),
    "a first load is one that nobody remembers": (
        test_first_load.test_what_has_landed_is_never_loaded_over_although_nobody_remembers_it
    ),
    "a staged batch is added to the rows of a load that died": lambda: (
        test_first_load.test_rows_without_a_position_are_replaced_by_a_staged_batch_too(test_first_load.BIG_APPEND)
    ),
    "a reset forgets the sync that died before it": lambda: (
        test_ways_on.test_a_reset_is_not_undone_by_a_sync_that_died_before_it_and_turns_out_to_have_landed(APPEND)
    ),
    "counts alone tell which keys differ": (
        test_key_parts.test_a_key_that_changed_its_place_by_as_much_as_another_is_seen
    ),
    "what the copy alone has in a part is not looked for again": (
        test_key_parts.test_what_the_source_finds_by_its_key_alone_is_not_gone
    ),
    "a source may be empty where its fraction allows it": (
        test_deletes_refused.test_an_empty_source_is_refused_whatever_the_fraction
    ),
    "a table that was truncated is like any other": (
        test_deletes_refused.test_a_table_that_was_truncated_and_is_being_filled_again_is_refused
    ),
    "keys are those of the rows that a sync reads": test_deletes.test_what_a_sync_does_not_read_is_not_gone,
    "keys that are gone are not staged": (
        test_deletes.test_a_row_that_is_gone_goes_with_the_next_sync_though_nothing_else_moved
    ),
    "a backfill compares keys, too": (
        test_deletes.test_a_backfill_compares_no_keys_and_leaves_the_turn_to_the_next_sync
    ),
    "a replica is compared with wherever it stands": (
        test_deletes_refused.test_a_replica_that_does_not_say_where_it_stands_is_not_compared_with
    ),
    "a row that is marked as gone equals one that comes back": (
        test_deletes_marked.test_a_key_that_comes_back_has_no_mark_though_its_row_is_as_it_was
    ),
    "keys are told apart as they are written": lambda: (
        test_collation_key.test_a_key_that_is_written_anew_takes_the_place_of_its_row(Deletes())
    ),
    "a copy of an earlier release is like any other": (
        test_collation_key.test_a_copy_of_an_earlier_release_goes_on_and_says_what_it_lacks_until_it_is_made_anew
    ),
    "how the source compares a key is no term of a copy": lambda: (
        test_collation_key.test_a_source_that_compares_its_key_in_another_way_stops_the_table_until_it_is_read_anew(
            "nocase", "rtrim"
        )
    ),
    "a repair has read all of its window": test_repair_verified.test_a_hole_that_no_sync_has_read_stays_one,
    "counts alone tell which rows differ": lambda: test_differing.test_ten_rows_among_many_are_found_by_reading_few(
        ("id",), pytest.MonkeyPatch()
    ),
    "what only the copy has is not read by a repair": (
        test_repair_deletes.test_a_row_that_became_one_that_cannot_land_leaves_the_copy
    ),
    "a repair follows no deletes": test_repair_deletes.test_rows_that_are_gone_alone_are_deleted_too,
    "the lowest drift is where verification ends": (
        test_repair_verified.test_a_drift_above_a_hole_verifies_nothing_past_the_hole
    ),
    "a rollback that died behind its commit has taken the quarantine back": lambda: (
        test_rollback.test_a_rollback_can_be_killed_at_any_moment(UPSERT.strategy)
    ),
    "a run that died behind its commit has said what became of held rows": (
        test_recovery.test_what_a_contract_held_is_settled_for_a_run_that_died_behind_its_commit_and_for_no_other
    ),
    "a rollback keeps the sequence of then": lambda: (
        test_rollback.test_rows_watermark_coverage_and_quarantine_are_those_of_then(UPSERT.strategy)
    ),
    "a rollback keeps the watermark of then": (
        test_rollback.test_where_a_run_since_could_settle_nothing_the_rollback_settles_nothing_either
    ),
    "a check records what it has found, whatever has landed since its look": (
        test_recorded_late.test_a_copy_that_was_rolled_back_since_the_look_is_not_verified
    ),
    "what was verified outlives a rollback": (
        test_recorded_late.test_a_check_that_records_while_a_rollback_commits_verifies_nothing_once_it_has_landed
    ),
    "a default is taken to stamp updates": lambda: (
        test_stamps.test_what_the_source_does_not_show_to_stamp_a_row_is_a_doubt(
            Stamping(Stamp()), Strategy.UPSERT, "no trigger of the database stamps 'updated_at' at an update"
        )
    ),
    "rows that lag longer than declared are not looked for": (
        test_stamps.test_a_row_that_lags_longer_is_reported_and_no_run_promises_more_until_more_is_declared
    ),
    "a row that came later than declared lowers nothing": (
        test_stamps.test_a_row_that_lags_longer_is_reported_and_no_run_promises_more_until_more_is_declared
    ),
    "a watermark stays where it was when stamps turn out to be cut": (
        test_stamps.test_a_default_that_begins_to_cut_between_two_syncs_loses_no_row_of_that_hour
    ),
    "a trigger that was switched off and on again goes unnoticed": (
        test_stamps.test_a_trigger_that_was_altered_between_two_syncs_makes_one_run_a_best_effort_and_is_said_once
    ),
    "a partition is known by its number alone": (
        test_parts.test_a_member_that_was_away_is_another_and_one_that_an_earlier_release_kept_is_the_same
    ),
    "numbers that a trigger gives are taken for those of the sequence": lambda: (
        test_doubts.test_numbers_that_may_come_from_below_are_a_best_effort_that_still_waits_for_who_is_open(
            Sequence("public.ids", trigger="renumbers"), "the trigger renumbers"
        )
    ),
    "what a row shows is taken to depend on it alone": (
        test_doubts.test_a_column_that_shows_more_than_its_row_is_a_best_effort_however_its_rows_are_followed
    ),
    "a copy of an earlier release tells keys apart as its source does": (
        test_doubts.test_a_copy_of_an_earlier_release_whose_key_only_the_source_takes_for_equal_is_a_best_effort
    ),
    "what was read again is verified": test_repair_verified.test_drift_that_stays_keeps_the_verified_end_below_it,
}
"""What a walk of that world comes upon too seldom, or never."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_known_bad_variant_is_killed(mutant: Mutant, record_property: Callable[[str, object], None]) -> None:
    begun = time.monotonic()
    with mutant.variant():
        killer = _killer(mutant)
    for name, value in (("mutant", mutant.name), ("harm", mutant.harm), ("killer", killer)):
        record_property(name, value)
    record_property("seconds", time.monotonic() - begun)
    assert killer, f"{mutant.name} survived, although it {mutant.harm}"


def _killer(mutant: Mutant) -> str:
    story = STORIES.get(mutant.name)
    if story is not None:
        return _name(story) if _fails(story) else ""
    return next((f"the model, seed {seed}" for seed in SEEDS if _fails(lambda seed=seed: _walk(Protocol, seed))), "")


def _name(story: Callable[[], None]) -> str:
    return "its story" if story.__name__ == "<lambda>" else story.__name__


def _walk(world: type[Protocol], seed: int) -> None:
    class Seeded(world):  # type: ignore[misc,valid-type]
        pass

    hypothesis.seed(seed)(Seeded)
    run_state_machine_as_test(Seeded, settings=SEARCH)


def _fails(story: Callable[[], None]) -> bool:
    try:
        story()
    except (AssertionError, pytest.fail.Exception, IncrementalAssetsError, StopIteration):
        return True
    return False


def test_the_protocol_itself_survives_the_walk_that_kills_its_variants() -> None:
    """Else a kill above would say nothing."""
    for world in (Protocol, Keeping):
        _walk(world, SEEDS[0])
    for story in STORIES.values():
        story()
