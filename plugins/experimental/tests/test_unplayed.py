"""What has met no server is nowhere told as if it had: guards of the pages; runs, `plan` and `doctor` have theirs in the tests of the dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED

ROOT = Path(__file__).parents[3]
PACKAGE = Path(__file__).parents[1] / "incremental_assets_experimental"
EXPERIMENTAL = {"sqlserver": "SQL Server", "oracle": "Oracle"}


@pytest.mark.parametrize("title", EXPERIMENTAL.values())
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CHANGELOG.md",
        "docs/reference/databases.md",
        "docs/reference/promises.md",
        "docs/configuration.md",
        "docs/guarantee.md",
    ],
)
def test_a_page_that_names_it_says_in_the_same_paragraph_that_no_server_has_played_it(page: str, title: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    assert any(title in each and UNPLAYED in each for each in paragraphs)


def test_a_dialect_that_no_server_has_played_says_so_itself() -> None:
    for name in EXPERIMENTAL:
        folder = PACKAGE / name
        for module in ("row_dialect.py", "bound.py", "doctor.py"):
            assert "UNPLAYED" in (folder / module).read_text(encoding="utf-8"), module
