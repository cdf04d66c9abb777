"""What `doctor` advises of a PostgreSQL, in its own terms."""

from __future__ import annotations

from incremental_assets.core.checks.doctor import Cures

CURES = Cures(
    unseen_transactions="grant pg_read_all_stats",
    untracked_sessions="set track_activities = on in the database, or a `holdback`",
    no_identity="grant pg_control_system() and pg_control_checkpoint()",
    hidden_rows="grant BYPASSRLS, or a policy that shows every row",
    emptied_by_crash="ALTER TABLE … SET LOGGED, or run `incremental-assets check` and `sync --full-refresh` after a crash",
    numbers_apart="make the column GENERATED ALWAYS AS IDENTITY if none does, or set a `lookback` of as many numbers as such rows may lag",
    numbers="let a default draw them from one sequence that counts up, with CACHE 1 and NO CYCLE, take a time cursor, "
    "or set a `lookback` of as many numbers as are to be looked through each time",
    login_trigger="drop or disable the trigger, or set a `holdback` longer than a login may take (authentication_timeout)",
    role_zones="give the role the database's TimeZone, or make the column a timestamptz",
)
