"""What `doctor` finds of late rows, and the `lookback` or the `within` that it advises: pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.core.captures.database.doubts import of_arrival, of_guessed_zone, of_logins, of_roles
from incremental_assets.core.captures.database.stamps import declared, of_stamps
from incremental_assets.core.checks.doctor import SourceFacts
from incremental_assets.core.checks.lateness import Lateness, LateRows, advised
from incremental_assets.core.config.edits import Edit
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import age, agreeing, counted


def of_lateness(spec: TableSpec, source: SourceFacts, measured: Lateness | None, found: LateRows) -> Iterator[Finding]:
    """How late rows come, and whether anything but the settled bound has to answer for them."""
    name, unproven = str(spec.id), _unproven(spec, source)
    exposed = bool(unproven) or _is_exposed(spec, source)
    if measured is not None:
        yield _measured(spec, measured, exposed=exposed, unproven=bool(unproven))
    if found.late:
        detail = f"{found.late:,} of {counted(found.rows, 'row')} in the last {counted(found.syncs, 'sync')} came late"
        cure = ""
        if exposed and measured is None:
            what = "declare `stamped`" if unproven else "set a `lookback`"
            cure = f"{what}; how wide it has to be, doctor measures where the source keeps the times of commits"
        yield Finding(name, "late rows", Health.WARN if cure else Health.OK, detail, cure)


def _measured(spec: TableSpec, measured: Lateness, *, exposed: bool, unproven: bool) -> Finding:
    detail = (
        f"of {counted(measured.rows, 'row')} that {agreeing(measured.rows, 'was', 'were')} written last, half were committed within {_seconds(measured.median)} of their stamp, "
        f"99 in 100 within {_seconds(measured.nearly_all)}, all within {_seconds(measured.longest)}"
    )
    lookback = spec.lookback if isinstance(spec.lookback, timedelta) else timedelta()
    within = declared(spec)
    covered = max(lookback, within) if within is not None else lookback
    if timedelta(seconds=measured.longest) <= covered or not (exposed or within is not None):
        return Finding(str(spec.id), "lateness", Health.OK, detail)
    advice, edit = advised(measured), None
    if advice is not None:
        edit = _edit(spec, format_duration(advice), declares=within is not None, unproven=unproven)
    if advice is None:
        cure = "stamps that old come by imports: read them by a backfill after each, or have rows stamped when they are written"
    elif within is not None:
        cure = (
            f"`stamped` declares {format_duration(within)}: unless their transactions took the rest of that time, declare "
            f"`stamped: {{by: application, within: {format_duration(advice)}}}`, twice the longest"
        )
    elif unproven:
        cure = f"declare `cursor: {{stamped: {{by: application, within: {format_duration(advice)}}}}}` at this table, twice the longest"
    else:
        cure = f"set `lookback: {format_duration(advice)}` at this table, twice the longest"
    return Finding(str(spec.id), "lateness", Health.WARN, detail, cure, edit)


def _edit(spec: TableSpec, advice: str, *, declares: bool, unproven: bool) -> Edit:
    """What is advised, as a change of the configuration."""
    if declares:
        return Edit(spec.id, ("cursor", "stamped", "within"), advice)
    if unproven:
        return Edit(spec.id, ("cursor", "stamped"), {"by": "application", "within": advice})
    return Edit(spec.id, ("lookback",), advice)


def _unproven(spec: TableSpec, source: SourceFacts) -> str:
    """Why its stamps are not known for the source's own."""
    zone = spec.read_by.zone if spec.read_by else None
    return "" if source.experimental else of_stamps(spec, zone or source.zone, source.clock)


def _is_exposed(spec: TableSpec, source: SourceFacts) -> bool:
    """Whether a late row may be missed because the bound cannot be settled."""
    cursor = spec.read_by
    if cursor is None:
        return False
    blind = source.is_replica or not source.sees_transactions or not source.tracks_activities
    doubts = (
        of_arrival(spec),
        of_logins(spec, source.login_trigger),
        of_roles(spec, cursor.zone or source.zone, source.clock),
        of_guessed_zone(spec, is_guess=source.zone_is_guess),
    )
    return blind or any(doubts)


def _seconds(value: float) -> str:
    return age(value) if value >= 1 else f"{max(0.0, value):.3f} s"
