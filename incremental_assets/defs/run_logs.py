"""What runs have printed, which Dagster keeps for each step in files of its own: removed when it is older than `retention` says. The runs and their events stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dagster import DagsterInstance, RunsFilter

from incremental_assets.defs.in_flight import PROCESS_TAG

_MARK = "incremental_assets/run_logs/removed_until"
"""Where the instance remembers up to which moment it was done, so that no run is looked at twice."""
_TOGETHER = 500
_BEFORE = timedelta(microseconds=1)
"""A run that is still at work is looked at again."""


def remove_older(instance: DagsterInstance, than: timedelta) -> int:
    """Of how many of our runs what they had printed was removed; those of others are theirs."""
    storage, until = instance.daemon_cursor_storage, datetime.now(UTC) - than
    done = storage.get_cursor_values({_MARK}).get(_MARK)
    wanted = RunsFilter(created_after=datetime.fromisoformat(done) if done else None, created_before=until)
    removed, cursor = 0, None
    while records := instance.get_run_records(wanted, limit=_TOGETHER, cursor=cursor, ascending=True):
        for record in records:
            run = record.dagster_run
            if not run.is_finished:
                until = min(until, record.create_timestamp - _BEFORE)
            elif PROCESS_TAG in run.tags:
                instance.compute_log_manager.delete_logs(prefix=[run.run_id, "compute_logs"])
                removed += 1
        cursor = records[-1].dagster_run.run_id
    storage.set_cursor_values({_MARK: until.isoformat()})
    return removed
