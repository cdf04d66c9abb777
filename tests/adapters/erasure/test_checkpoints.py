"""What a checkpoint database says of a person, in SQLite and in PostgreSQL: it is found, something else takes its place, and the rows stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.adapters.erasure.prover import Grounds, examine
from incremental_assets.adapters.erasure.redacting import Redacting
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.core.model.erasure import Place
from incremental_assets.core.model.table_id import TableId
from incremental_assets.resources.checkpoints import open_checkpoints
from tests.adapters.erasure.erasing import ANN, MAIL
from tests.ports.conftest import postgresql_url

PEOPLE, OTHERS = TableId("shop", "public", "people"), TableId("shop", "public", "orders")
SQL = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(params=SQL)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'checkpoints.db'}"
    return postgresql_url(request.getfixturevalue("postgres"), request.getfixturevalue("database"))


def found(url: str, folder: Path) -> list[tuple[Place, str]]:
    looked = examine(Grounds(str(folder / "lake"), PEOPLE, url, folder / "dagster"), ANN)
    return [(each.place, each.where) for each in looked.left]


def test_a_reason_that_names_her_is_found_and_redacted_and_what_names_others_stays(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "lake").mkdir()
    checkpoints = open_checkpoints(url)
    checkpoints.pause(PEOPLE, "me", f"until {MAIL} (900001) has answered")
    checkpoints.pause(OTHERS, "me", "order 900001 is looked at")
    places = found(url, tmp_path)
    assert places
    assert {place for place, _ in places} == {Place.CHECKPOINTS}

    checkpoints.close()
    Redacting(Search(ANN, keyed=False), PEOPLE.name).checkpoints(url)
    assert found(url, tmp_path) == []

    again = open_checkpoints(url)
    pauses = again.pauses()
    told = {each: pause.reason for each in (PEOPLE, OTHERS) if (pause := pauses.of(each)) is not None}
    again.close()
    assert told == {PEOPLE: "until (erased) ((erased)) has answered", OTHERS: "order 900001 is looked at"}
