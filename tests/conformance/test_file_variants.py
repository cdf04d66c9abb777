"""Known-bad variants of the capture by files: each leaves one thought out, and a scenario notices it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.adapters.files import listing, opened, pattern
from incremental_assets.adapters.files.csv_quotes import Quotes
from incremental_assets.adapters.files.ledger import Ledger
from incremental_assets.adapters.files.listing import Listed
from incremental_assets.adapters.files.opened import Opening
from incremental_assets.adapters.files.ranking import Ranking
from incremental_assets.core.captures.files.observation import News
from tests.conformance import test_file_contents as contents
from tests.conformance import test_file_kills as kills
from tests.conformance.file_stand import FileStand
from tests.conformance.variants import Variant, assert_killed

pytestmark = pytest.mark.acceptance

Patch = pytest.MonkeyPatch


def _knows_no_inode(patch: Patch) -> None:
    for module in (pattern, opened):
        patch.setattr(module, "tag_of", lambda _, written: str(written))


def _goes_on_behind_the_last_path(patch: Patch) -> None:
    news = Listed.news

    def later(listed: Listed, at: Any) -> News:
        found = news(listed, at)
        return replace(found, files=tuple(each for each in found.files if each.path > at.last))

    patch.setattr(Listed, "news", later)


def _takes_no_time_to_settle(patch: Patch) -> None:
    listed = listing.listed
    from incremental_assets.adapters.files import probe

    patch.setattr(probe, "listed", lambda *asked: listed(*asked[:-1], asked[-1] + 10))


VARIANTS: dict[str, Variant] = {
    "files that have landed are forgotten": Variant(
        "lands files twice",
        lambda patch: patch.setattr(Ledger, "added", lambda _, before, files: tuple(before)),
        "two runs at once",
        kills.test_two_runs_of_files_at_once,
    ),
    "the last path is all that is known": Variant(
        "loses files that come late under a smaller name",
        _goes_on_behind_the_last_path,
        "a file that comes late",
        contents.test_a_file_that_comes_late,
    ),
    "what comes last is newest": Variant(
        "takes rows back when a file comes late",
        lambda patch: patch.setattr(Ranking, "_newer_than", lambda _, rows, *more: rows),
        "a file that comes late",
        contents.test_a_file_that_comes_late,
    ),
    "a file is known by its time and size": Variant(
        "keeps rows of a file that was replaced",
        _knows_no_inode,
        "a file that is another one since",
        lambda files: contents.test_a_file_that_is_another_one_since(files, "again"),
    ),
    "a file is not looked at again when it was read": Variant(
        "lands a file under the size that it had before it grew, and once more",
        lambda patch: patch.setattr(Opening, "_check", lambda *_: None),
        "a file that goes or grows before it is read",
        contents.test_a_file_that_goes_or_grows_before_it_is_read,
    ),
    "a file is read as soon as it is there": Variant(
        "lands halves of files",
        _takes_no_time_to_settle,
        "a file that is half written",
        contents.test_a_file_that_is_half_written,
    ),
    "quotes are not counted": Variant(
        "takes the rows behind a quote that is not closed for one value",
        lambda patch: patch.setattr(Quotes, "fault", lambda _: ""),
        "files that are broken",
        contents.test_files_that_are_broken,
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_known_bad_variant_is_killed(
    name: str, folder_of_files: FileStand, monkeypatch: Patch, record_property: Callable[[str, object], None]
) -> None:
    assert_killed(name, VARIANTS[name], monkeypatch, record_property, folder_of_files)
