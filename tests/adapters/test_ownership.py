"""A second installation on one lake: it is refused by name before it writes or removes anything; a lost checkpoint database is no second one."""

from __future__ import annotations

import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.ownership import Ownership
from incremental_assets.adapters.delta.staging.stage import ParquetStage
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.installation import Installation
from incremental_assets.core.model.layout import LaidOut, Layout, Target
from incremental_assets.core.model.paths import owner_path, staging_path, table_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import CommitIds
from tests.adapters.batches import ORDERS

CUSTOMERS = TableId("shop", "public", "customers")


def never() -> Any:
    pytest.fail("nothing is to be read or written")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def ownership(lake: Path, checkpoints: Path) -> Ownership:
    """As one installation opens it, whose checkpoint database is made if it is missing."""
    return Ownership(str(lake), SqlCheckpoints(f"sqlite:///{checkpoints}").installation)


def laid_out(lake: Path, target: str, checkpoints: Path) -> Ownership:
    """The same of a configuration in which all tables of two sources have such a place."""
    layout = Layout(sources=dict.fromkeys(("shop", "erp"), Target.parse(target)))
    return Ownership(LaidOut(str(lake), layout), SqlCheckpoints(f"sqlite:///{checkpoints}").installation)


def marker(lake: Path) -> Path:
    return Path(owner_path(str(lake), ORDERS.id))


def test_a_second_installation_is_refused_by_name_and_removes_no_batch(lake: Path, tmp_path: Path) -> None:
    ownership(lake, tmp_path / "first" / "checkpoints.db").check(ORDERS.id)
    batch = Path(staging_path(str(lake), ORDERS.id, "of-the-first"))
    batch.mkdir(parents=True)
    second = ownership(lake, tmp_path / "second" / "checkpoints.db")
    told = r"shop.public.orders: another installation writes this table .*/first/checkpoints.db, last .*/second/checkpoints.db.*reset --select shop.public.orders --take-over"
    plan: Any = type("Plan", (), {"spec": ORDERS, "commit_ids": CommitIds("app", 1, "batch")})()
    with pytest.raises(LakeRefused, match=told):
        ParquetStage(str(lake), never, owner=second).write(plan, never)  # type: ignore[arg-type]
    assert batch.exists()
    with pytest.raises(LakeRefused, match=told):
        DeltaLake(str(lake), lambda: None, owner=second).fence(ORDERS, plan.commit_ids, None)  # type: ignore[arg-type, return-value]
    assert not Path(table_path(str(lake), ORDERS.id)).exists()


def test_tables_are_owned_one_by_one(lake: Path, tmp_path: Path) -> None:
    ownership(lake, tmp_path / "first.db").check(ORDERS.id)
    second = ownership(lake, tmp_path / "second.db")
    second.check(CUSTOMERS)
    with pytest.raises(LakeRefused, match="another installation"):
        second.check(ORDERS.id)
    with pytest.raises(LakeRefused, match="another installation"):
        ownership(lake, tmp_path / "first.db").check(CUSTOMERS)


def test_the_owner_writes_its_file_once_and_touches_it_when_it_writes(lake: Path, tmp_path: Path) -> None:
    ours = ownership(lake, tmp_path / "ours.db")
    ours.check(ORDERS.id)
    os.utime(marker(lake), (0, 0))
    before = marker(lake).stat().st_ino, marker(lake).read_text()
    ownership(lake, tmp_path / "ours.db").check(ORDERS.id)
    assert (marker(lake).stat().st_ino, marker(lake).read_text()) == before
    assert marker(lake).stat().st_mtime > 0
    assert [path.name for path in marker(lake).parent.iterdir()] == ["orders.json"]


def test_a_checkpoint_database_that_was_lost_is_followed_by_the_one_in_its_place(
    lake: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    ownership(lake, home / "checkpoints.db").check(ORDERS.id)
    shutil.rmtree(home)
    with caplog.at_level(logging.WARNING):
        ownership(lake, home / "checkpoints.db").check(ORDERS.id)
    assert "is a new one, which takes the table over" in caplog.text
    ownership(lake, home / "checkpoints.db").check(ORDERS.id)


def test_a_checkpoint_database_that_moved_is_the_same_installation(lake: Path, tmp_path: Path) -> None:
    ownership(lake, tmp_path / "before" / "checkpoints.db").check(ORDERS.id)
    (tmp_path / "before").rename(tmp_path / "after")
    ownership(lake, tmp_path / "after" / "checkpoints.db").check(ORDERS.id)
    assert "/after/" in json.loads(marker(lake).read_text())["checkpoints"]


def test_whoever_takes_a_table_over_owns_it_and_the_other_one_is_refused(lake: Path, tmp_path: Path) -> None:
    first, second = (ownership(lake, tmp_path / f"{name}.db") for name in ("first", "second"))
    first.check(ORDERS.id)
    before = second.take(ORDERS.id)
    assert before is not None
    assert before.checkpoints.endswith("/first.db")
    second.check(ORDERS.id)
    with pytest.raises(LakeRefused, match=r"/second\.db, last"):
        first.check(ORDERS.id)
    assert second.take(ORDERS.id) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": "x"}'])
def test_a_file_that_does_not_say_who_owns_the_table_is_named_with_the_cure(
    lake: Path, tmp_path: Path, text: str
) -> None:
    ours = ownership(lake, tmp_path / "ours.db")
    ours.check(ORDERS.id)
    marker(lake).write_text(text)
    with pytest.raises(LakeRefused, match=r"orders.json does not say which installation .*--take-over"):
        ours.check(ORDERS.id)
    ours.take(ORDERS.id)
    ours.check(ORDERS.id)


def test_a_server_is_one_place_whichever_machine_asks_it_and_its_password_is_in_no_sentence(lake: Path) -> None:
    here = Installation("a", "db.example:5432/checkpoints", "postgresql://sync@db.example/checkpoints", "ann", "one")
    there = Installation("b", "db.example:5432/checkpoints", "postgresql://sync@db.example/checkpoints", "bob", "two")
    Ownership(str(lake), lambda: here).check(ORDERS.id)
    Ownership(str(lake), lambda: there).check(ORDERS.id)
    assert Installation.from_json(marker(lake).read_text()) == there


def test_a_checkpoint_database_says_which_one_it_is_without_secrets(tmp_path: Path) -> None:
    one, other = (SqlCheckpoints(f"sqlite:///{tmp_path}/{name}.db") for name in ("one", "other"))
    assert one.installation() == SqlCheckpoints(f"sqlite:///{tmp_path}/one.db").installation()
    assert one.installation().id != other.installation().id
    assert one.installation().place != other.installation().place


OF_ERP = TableId("erp", "public", "orders")
"""Another table, whose copy may lie in the same folder."""


def test_a_folder_that_another_installation_has_for_another_table_is_refused_by_name(
    lake: Path, tmp_path: Path
) -> None:
    first, second = (laid_out(lake, "gold/{table}", tmp_path / f"{name}.db") for name in ("first", "second"))
    first.check(ORDERS.id)
    with pytest.raises(LakeRefused, match=r"erp.public.orders: another installation .*/first\.db, last"):
        second.check(OF_ERP)
    assert not Path(owner_path(str(lake), OF_ERP)).exists()
    first.check(ORDERS.id)
    second.take(OF_ERP)
    second.check(OF_ERP)
    with pytest.raises(LakeRefused, match=r"shop.public.orders: another installation .*/second\.db, last"):
        first.check(ORDERS.id)


def test_a_table_that_got_another_source_name_stays_its_installations(lake: Path, tmp_path: Path) -> None:
    ours = laid_out(lake, "gold/{table}", tmp_path / "ours.db")
    ours.check(ORDERS.id)
    ours.check(OF_ERP)


@pytest.mark.parametrize("begins_first", ["above", "below"])
def test_a_lake_above_or_below_that_has_the_same_folder_is_refused_by_name(
    lake: Path, tmp_path: Path, begins_first: str
) -> None:
    opens = {
        "above": lambda: laid_out(lake, "team/{source}/{schema}/{table}", tmp_path / "above.db"),
        "below": lambda: ownership(lake / "team", tmp_path / "below.db"),
    }
    first = opens.pop(begins_first)()
    [(_, then)] = opens.items()
    first.check(ORDERS.id)
    second = then()
    with pytest.raises(LakeRefused, match=rf"another installation .*/{begins_first}\.db, last"):
        second.check(ORDERS.id)
    second.check(CUSTOMERS)
    second.take(ORDERS.id)
    second.check(ORDERS.id)
    with pytest.raises(LakeRefused, match="another installation"):
        first.check(ORDERS.id)


def test_lakes_one_in_the_other_whose_copies_do_not_meet_know_nothing_of_each_other(lake: Path, tmp_path: Path) -> None:
    above, below = ownership(lake, tmp_path / "above.db"), ownership(lake / "shop", tmp_path / "below.db")
    for each in (above, below, above, below):
        each.check(ORDERS.id)


def test_of_two_checkpoint_databases_of_one_address_each_does_not_take_the_table_from_the_other(lake: Path) -> None:
    """As of two clusters of containers in each of which the server is called `db`."""
    one, other = (
        Installation(name, "db:5432/checkpoints", "postgresql://sync@db/checkpoints", "root", name)
        for name in ("blue", "green")
    )
    Ownership(str(lake), lambda: one).check(ORDERS.id)
    Ownership(str(lake), lambda: other).check(ORDERS.id)
    with pytest.raises(
        LakeRefused,
        match=r"another installation .*root on green, .*another one of the same address.*this one is root on blue",
    ):
        Ownership(str(lake), lambda: one).check(ORDERS.id)
    Ownership(str(lake), lambda: one).take(ORDERS.id)
    Ownership(str(lake), lambda: one).check(ORDERS.id)
    with pytest.raises(LakeRefused, match="this one is root on green"):
        Ownership(str(lake), lambda: other).check(ORDERS.id)
