"""Known-bad variants: each removes a file that somebody needs, or leaves what nobody does, and a test finds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from incremental_assets.adapters.delta import old_files
from incremental_assets.adapters.delta.log.referenced import Referenced
from tests.adapters.lake_store import test_old_files as tests

Patch = pytest.MonkeyPatch


def week_of(folder: str) -> None:
    days = {"v3": 5, "v2": 6}
    kept = {"2.parquet", tests.ITS_FILE, "3.parquet"}
    tests.test_the_version_that_was_current_a_week_ago_and_all_later_ones_stay_readable(folder, days, 1, kept)


def early(patch: Patch) -> None:
    """What the log says before files are listed."""
    latest, said = old_files.log_cache.latest, dict[str, Referenced]()

    def files_in(store: tests.LocalStore, key: str) -> list[tuple[str, tests.Head]]:
        seen = latest(key)
        assert seen is not None
        said[key] = real(key, seen.state.version)
        return list(listing(store, key))

    real, listing = old_files.referenced, tests.LocalStore.files_in
    patch.setattr(tests.LocalStore, "files_in", files_in)
    patch.setattr(old_files, "referenced", lambda path, _: said[path])


def replaced(name: str, with_: object) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(old_files, name, with_, raising=False)


def only_live(path: str, since: int) -> Referenced:
    """What the last version has, and nothing that came between."""
    seen = old_files.log_cache.latest(path)
    assert seen is not None
    return REAL(path, seen.state.version)


REAL = old_files.referenced
VARIANTS: dict[str, tuple[Callable[[Patch], None], Callable[[str], None]]] = {
    "only the last version is kept": (replaced("current_at", lambda times, _: max(times)), week_of),
    "of versions the last one's files alone are named": (replaced("referenced", only_live), week_of),
    "what is not committed goes whatever its age": (
        replaced("unneeded", lambda files, needed, _: tuple(file for file in files if file.name not in needed)),
        tests.test_a_file_that_was_not_committed_stays_while_it_is_young,
    ),
    "whatever is old goes": (
        replaced("unneeded", lambda files, _, since: tuple(file for file in files if file.at <= since)),
        week_of,
    ),
    "what the table promises is not heard": (
        replaced("kept_for", lambda files, _: files),
        tests.test_files_stay_as_long_as_the_table_promises_its_readers,
    ),
    "every file below is the table's": (
        replaced("_own", lambda stored: [each for each in stored if "_delta_log/" not in each.name]),
        tests.test_what_is_no_file_of_the_table_is_left_alone,
    ),
    "a checkpoint is not asked what it remembers": (
        replaced("removed_before", lambda *_: frozenset[str]()),
        tests.test_files_that_the_log_has_forgotten_are_kept_as_long_as_its_checkpoint_remembers_them,
    ),
    "what lies beside follows its own clock": (
        replaced("min", lambda *given: given[0] if len(given) > 1 else min(*given)),
        tests.test_a_version_that_lies_beside_and_must_still_be_read_keeps_its_files,
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_is_found_and_the_real_one_is_not(variant: str, tmp_path: Path, monkeypatch: Patch) -> None:
    install, story = VARIANTS[variant]
    for name in ("good", "bad"):
        (tmp_path / name / "_delta_log").mkdir(parents=True)
    story(f"{tmp_path}/good")
    install(monkeypatch)
    with pytest.raises(AssertionError):
        story(f"{tmp_path}/bad")


def test_a_log_that_is_read_before_files_are_listed_is_found(tmp_path: Path, monkeypatch: Patch) -> None:
    story = tests.test_a_file_that_is_committed_once_files_were_listed_stays
    (tmp_path / "_delta_log").mkdir()
    early(monkeypatch)
    with monkeypatch.context() as patch, pytest.raises(AssertionError):
        story(str(tmp_path), patch)
