"""What has met no server is nowhere told as if it had: guards of the pages; runs, `plan` and `doctor` have theirs in the tests of the dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.adapters.databases.rowwise.row_dialect import UNPLAYED
from incremental_assets.core.config.dialects import BUILT_IN

ROOT = Path(__file__).parents[1]
EXPERIMENTAL = {"sqlserver": "SQL Server", "oracle": "Oracle"}
PLAYED = set(BUILT_IN) - set(EXPERIMENTAL)
"""By the contract, against a real source, in this very suite."""


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


def test_every_dialect_is_played_or_said_not_to_be() -> None:
    assert set(EXPERIMENTAL) < set(BUILT_IN)
    for name in PLAYED:
        assert (ROOT / "tests" / "adapters" / "databases" / f"test_{name}.py").read_text(encoding="utf-8").count(
            "contract import *"
        ) >= 1


def test_a_dialect_that_no_server_has_played_says_so_itself() -> None:
    for name in EXPERIMENTAL:
        folder = ROOT / "incremental_assets" / "adapters" / "databases" / name
        for module in ("row_dialect.py", "bound.py", "doctor.py"):
            assert "UNPLAYED" in (folder / module).read_text(encoding="utf-8"), module
