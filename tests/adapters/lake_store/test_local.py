"""A folder of this machine keeps the contract; what only a folder can have is refused or looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from incremental_assets.adapters.lake_store.local import LocalStore
from incremental_assets.adapters.lake_store.store import NotOffered
from incremental_assets.core.errors import TargetChanged
from tests.adapters.lake_store.contract import *  # noqa: F403
from tests.adapters.lake_store.contract import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(LocalStore(), str(tmp_path))


def test_a_folder_that_is_not_there_is_said_so(place: Place) -> None:
    with pytest.raises(FileNotFoundError):
        place.store.list_from(f"{place.root}/none")


def test_what_stands_where_a_folder_belongs_is_named(place: Place) -> None:
    key = place.put("a/file")
    with pytest.raises(TargetChanged, match=f"{key} is no folder"):
        place.store.list_from(key)
    Path(place.root, "link").symlink_to("nowhere")
    with pytest.raises(TargetChanged, match="link is a link to nothing"):
        place.store.list_from(f"{place.root}/link")


def test_a_pipe_is_not_waited_for(place: Place) -> None:
    os.mkfifo(f"{place.root}/pipe")
    for ask in (place.store.read, place.store.check, lambda key: place.store.end(key, 1)):
        with pytest.raises(TargetChanged, match="pipe is no file, but a pipe or a device"):
            ask(f"{place.root}/pipe")


def test_a_file_system_without_hard_links_does_not_offer_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(NotOffered, match="no hard links"):
        place.store.put_if_absent(f"{place.root}/1.json", b"text")
    assert list(Path(place.root).iterdir()) == []
