"""What a history has to follow: one batch where no more has happened, else the whole copy, and nothing of another writer's."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.model.history import Step
from incremental_assets.core.model.rename import Rename, RenamedAt
from incremental_assets.core.planning.history_step import Copy, CopyCommit, Effect, next_step
from tests.fakes.history import Seen, Version, followed, overlaps

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)


def commit(version: int, effect: Effect) -> CopyCommit:
    return CopyCommit(version, 10 * version, f"batch{version}", CLOCK, "UTC", effect)


def copy(shown: int | None, *effects: Effect) -> Copy:
    """Commits from version 0 on."""
    commits = [commit(version, effect) for version, effect in enumerate(effects)]
    return Copy(len(effects) - 1, landed=True, shown=shown, commits=tuple(reversed(commits)))


def step(version: int, of: int, *, whole: bool, alone: bool = False) -> Step:
    """`alone`: its commit is all that has happened."""
    return Step(version, 10 * of, f"batch{of}", CLOCK, "UTC", whole, of if alone else None)


NONE, BATCH, TAKING, MORE, FOREIGN = Effect.NONE, Effect.BATCH, Effect.TAKING, Effect.MORE, Effect.FOREIGN


def test_one_batch_is_followed_by_its_rows_alone_whatever_fences_and_upkeep_came_with_it() -> None:
    assert next_step(copy(1, NONE, BATCH, NONE, BATCH, NONE)) == step(4, of=3, whole=False, alone=True)


def renaming(version: int, before: str, after: str) -> CopyCommit:
    return replace(commit(version, NONE), renames=(Rename(before, after),))


def test_a_rename_alone_is_followed_by_the_names_alone_and_with_a_batch_before_its_rows() -> None:
    alone = replace(copy(1, NONE, BATCH, NONE), commits=(renaming(2, "a", "b"), commit(1, BATCH)))
    expected = replace(step(2, of=2, whole=False), renames=(RenamedAt(2, (Rename("a", "b"),)),), has_rows=False)
    assert next_step(alone) == expected
    later = (commit(4, BATCH), renaming(3, "b", "c"), renaming(2, "a", "b"), commit(1, BATCH))
    both = replace(copy(1, NONE, BATCH, NONE, NONE, BATCH), commits=later)
    expected = replace(
        step(4, of=4, whole=False, alone=True),
        renames=(RenamedAt(2, (Rename("a", "b"),)), RenamedAt(3, (Rename("b", "c"),))),
    )
    assert next_step(both) == expected


def test_a_rename_that_a_rollback_has_taken_back_is_followed_by_nobody() -> None:
    back = replace(commit(3, MORE), rolled_back_to=10)
    found = next_step(
        replace(copy(1, NONE, BATCH, NONE, MORE), commits=(back, renaming(2, "a", "b"), commit(1, BATCH)))
    )
    assert found is not None
    assert (found.renames, found.restores) == ((), 10)


def test_several_batches_and_one_that_took_rows_away_are_followed_by_the_whole_copy() -> None:
    assert next_step(copy(1, NONE, BATCH, TAKING, NONE)) == step(3, of=2, whole=True, alone=True)
    assert next_step(copy(1, NONE, BATCH, BATCH, BATCH)) == step(3, of=3, whole=True)
    assert next_step(copy(1, NONE, BATCH, MORE)) == step(2, of=2, whole=True)


def test_a_history_begins_with_the_whole_copy_once_that_has_landed() -> None:
    assert next_step(copy(None, NONE, BATCH, NONE)) == step(2, of=1, whole=True)
    assert next_step(replace(copy(None, NONE, MORE), landed=False)) is None


def test_nothing_is_to_be_followed_where_no_row_has_changed() -> None:
    assert next_step(copy(1, NONE, BATCH)) is None
    assert next_step(copy(1, NONE, BATCH, NONE, NONE)) is None


def test_what_another_writer_did_is_followed_only_once_a_sync_has_gone_on_from_it() -> None:
    assert next_step(copy(1, NONE, BATCH, FOREIGN)) is None
    assert next_step(copy(None, NONE, BATCH, FOREIGN, NONE)) is None
    assert next_step(copy(1, NONE, BATCH, FOREIGN, BATCH)) == step(3, of=3, whole=True)


def test_where_the_log_was_cleaned_nothing_is_taken_for_granted() -> None:
    whole = copy(1, NONE, BATCH, BATCH, NONE, BATCH)
    assert next_step(replace(whole, commits=whole.commits[:2])) == step(4, of=4, whole=True)
    idle = copy(1, NONE, BATCH, NONE, NONE)
    assert next_step(replace(idle, commits=idle.commits[:1])) == step(3, of=3, whole=True)


ROWS = st.one_of(st.none(), st.builds(lambda note: {"id": 1, "note": note}, st.sampled_from("ab")))
STAMPS = st.one_of(st.none(), st.integers(-5, 50).map(lambda minutes: CLOCK + timedelta(minutes=minutes)))
LOOKS = st.lists(st.tuples(ROWS, STAMPS, st.integers(-3, 9)), max_size=12)


@given(LOOKS)
def test_whatever_order_stamps_and_clocks_come_in_versions_follow_each_other_and_end_with_what_was_seen_last(
    looks: list[tuple[dict[str, object] | None, datetime | None, int]],
) -> None:
    versions: list[Version] = []
    clock = CLOCK
    for seq, (row, told, minutes) in enumerate(looks):
        # A clock may be put back.
        clock += timedelta(minutes=minutes)
        before = versions
        versions = followed(versions, Seen(row, told), seq, clock)
        assert followed(versions, Seen(row, told), seq, clock) == versions, "followed once more, it is the same"
        assert [replace(each, ends=None) for each in versions[: len(before)]] == [
            replace(each, ends=None) for each in before
        ]
        assert not overlaps(versions)
        assert [each.row for each in versions if each.is_current] == ([] if row is None else [row])


@given(LOOKS)
def test_the_query_as_of_any_moment_finds_one_version_from_the_first_on(
    looks: list[tuple[dict[str, object] | None, datetime | None, int]],
) -> None:
    versions: list[Version] = []
    for seq, (row, told, _) in enumerate(looks):
        versions = followed(versions, Seen(row, told), seq, CLOCK + timedelta(hours=seq))
    for moment in {each.begins for each in versions} | {CLOCK + timedelta(days=9)}:
        found = [each for each in versions if each.begins <= moment and (each.ends is None or moment < each.ends)]
        assert len(found) == (1 if versions else 0)
