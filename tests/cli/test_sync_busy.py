"""What another run works on is busy, and no more than that."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.config.load import load
from incremental_assets.core.model.compaction import Layout
from incremental_assets.core.model.table import TableSpec
from tests.cli.conftest import Call, Outside
from tests.fakes import FakeLake
from tests.scenario import COUNTRIES, ORDERS, monday, order


def test_busy_is_4_when_nothing_worse_happened(call: Call, config: Path, synced: Outside) -> None:
    order(synced.world.database, "alan", synced.world.database.stamp())
    memory = SqlCheckpoints(load(config).checkpoints)
    with memory.lease(ORDERS, "another run"):
        said = call("sync", "--json")

    assert said.code == 4
    assert said.tables["public.orders"]["status"] == "busy"
    assert said.tables["public.countries"]["status"] == "idle"


def test_a_source_that_another_run_works_on_is_not_said_to_be_a_table_that_is_synced(
    call: Call, outside: Outside
) -> None:
    from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

    from incremental_assets.cli.orphaned_runs import process_tag
    from incremental_assets.defs.names import pool

    monday(outside.world.database)
    call("sync", "--select", "public.countries")
    with DagsterInstance.get() as instance:
        run = instance.add_run(DagsterRun(job_name="sync", status=DagsterRunStatus.STARTED, tags=process_tag()))
        instance.event_log_storage.set_concurrency_slots(pool("shop"), 1)
        assert instance.event_log_storage.claim_concurrency_slot(pool("shop"), run.run_id, "step").is_claimed
        said = call("sync", "--json")

    error = said.tables["public.orders"]["error"]
    assert (said.code, said.tables["public.orders"]["status"]) == (4, "busy")
    assert f"run {run.run_id} of Dagster is working on the source 'shop'" in error
    assert "is syncing this table" not in error


def test_a_source_of_the_same_name_that_another_configuration_works_on_is_told_as_such(
    call: Call, config: Path, outside: Outside
) -> None:
    """Both have one home of Dagster, where the source's name is that of its one slot."""
    from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

    from incremental_assets.cli.orphaned_runs import own_tags
    from incremental_assets.defs.names import pool

    monday(outside.world.database)
    call("sync", "--select", "public.countries")
    said = {}
    with DagsterInstance.get() as instance:
        instance.event_log_storage.set_concurrency_slots(pool("shop"), 1)
        for whose in (Path("/other/sources.yaml"), load(config).path):
            run = instance.add_run(DagsterRun(job_name="sync", status=DagsterRunStatus.STARTED, tags=own_tags(whose)))
            assert instance.event_log_storage.claim_concurrency_slot(pool("shop"), run.run_id, "step").is_claimed
            said[whose.parent.name] = call("sync", "--json").tables["public.orders"]["error"]
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    theirs, ours = said.values()
    assert f"(pid {os.getpid()} on {socket.gethostname()}, for the configuration /other/sources.yaml)" in theirs
    assert theirs.endswith(
        "try again when it is done, or give each of the two configurations a DAGSTER_HOME of its own"
    )
    assert ours.endswith(f"(pid {os.getpid()} on {socket.gethostname()}); try again when it is done")


def test_busy_is_not_hidden_where_nothing_moved(call: Call, config: Path) -> None:
    call("sync")
    with SqlCheckpoints(load(config).checkpoints).lease(COUNTRIES, "another run"):
        said = call("sync", "--json")

    assert (said.code, said.tables["public.countries"]["status"]) == (4, "busy")


def test_a_table_that_has_landed_is_not_busy_because_another_run_takes_it_before_its_files_are_put_together(
    call: Call, config: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday(outside.world.database)
    memory = SqlCheckpoints(load(config).checkpoints)
    with ExitStack() as other:

        def layout(self: FakeLake, spec: TableSpec) -> Layout:
            other.enter_context(memory.lease(ORDERS, "another run"))
            return Layout((1000,) * 100, 100, 100)

        monkeypatch.setattr(FakeLake, "layout", layout)
        said = call("sync", "--json")

    assert (said.code, said.tables["public.orders"]["status"]) == (0, "landed")
