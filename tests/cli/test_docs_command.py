"""`docs`: the pages that messages name are at hand wherever the package is."""

from __future__ import annotations

import json
import re

import pytest

from incremental_assets.core.model import cures
from incremental_assets.core.model.verdict import Check
from incremental_assets.defs import metadata
from tests.cli.conftest import Call


@pytest.mark.parametrize("page", ["how-to/recover", "docs/how-to/recover.md", "recover"])
def test_a_page_is_shown_as_it_is_written_however_it_is_named(call: Call, page: str) -> None:
    said = call("docs", page)
    assert (said.code, said.out.splitlines()[0]) == (0, "# Recover")


def test_all_pages_are_listed_with_what_they_are_about(call: Call) -> None:
    pages = {each["page"]: each["title"] for each in json.loads(call("docs", "--json").out)["pages"]}
    assert pages["how-to/recover"] == "Recover"
    assert pages["runbooks/log-kept"] == "A source keeps much of its log for us"
    assert "" not in pages.values()


def test_a_page_that_is_not_there_is_a_sentence_with_the_nearest(call: Call) -> None:
    said = call("docs", "how-to/recovery")
    assert (said.code, said.err) == (
        2,
        "there is no page 'how-to/recovery'; `incremental-assets docs how-to/recover` shows one, `incremental-assets docs` lists all\n",
    )


@pytest.mark.parametrize("check", [*metadata.PAGES], ids=str)
def test_each_check_names_a_page_that_is_there(call: Call, check: Check) -> None:
    assert call("docs", metadata.PAGES[check]).code == 0


def test_each_cure_that_names_a_page_names_one_that_is_there(call: Call) -> None:
    named = [
        match
        for text in vars(cures).values()
        if isinstance(text, str)
        for match in re.findall(r"`incremental-assets docs (\S+)`", text)
    ]
    assert named
    assert [call("docs", page).code for page in named] == [0] * len(named)
