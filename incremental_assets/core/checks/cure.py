"""What to do about a check that has not passed: one sentence with a command that works as printed."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.model import cures
from incremental_assets.core.model.schema_drift import Difference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verdict import Check, Verdict

_NEVER_EQUAL = (
    "what differs after that repeats a key that the source does not enforce, of which one row lands, or has another value whenever it is read: "
    "declare a `primary_key` that is unique, and leave such a column out by `columns: {exclude: […]}`"
)


def with_cure(verdict: Verdict, spec: TableSpec) -> Verdict:
    """The verdict and its cure. None where nothing could be measured, of which the sentence is an error's, and none beside a command that the sentence names already."""
    if verdict.passed or verdict.cure or verdict.measured is None or cures.COMMAND in verdict.detail:
        return verdict
    return replace(verdict, cure=_of_check(verdict, spec))


def _of_check(verdict: Verdict, spec: TableSpec) -> str:
    match verdict.check:
        case Check.FRESHNESS:
            return _of_freshness(verdict, spec)
        case Check.DUPLICATES:
            return (
                f"{cures.full_refresh(spec)} makes the copy anew; where another writer has put the rows there, {cures.runs(spec)} "
                "lists the runs that it can be taken back to"
            )
        case Check.RECONCILIATION:
            return _of_reconciliation(verdict, spec)
        case Check.SCHEMA:
            return ""  # who compares the columns has said it: see `of_schema`
        case Check.CONTRACT:
            return f"put the rows right in the source, or alter the contract; then {cures.replay(spec.id)} reads them again"
        case Check.CURRENT | Check.OVERLAP:
            return "move the folder of the history away: the next sync begins a new one with the copy as it is"


def _of_freshness(verdict: Verdict, spec: TableSpec) -> str:
    if not verdict.measured:
        return f"end what holds the watermark back; {cures.DOCTOR} says who that is"
    return f"{cures.sync(spec.id)} lands what waits; if that is done by a sensor, {cures.STATUS} says when it has done so last"


def _of_reconciliation(verdict: Verdict, spec: TableSpec) -> str:
    if not verdict.measured:
        return f"{cures.runs(spec)} lists the runs that the copy can be taken back to, from before the other writer"
    if capture_of(spec).tells_changes and spec.traits.one_row_per_key:
        return f"{cures.repair(spec.id)} reads again what differs and nothing else"
    if spec.read_by is None:
        return f"{cures.full_refresh(spec)} reads the table again"
    if spec.traits.one_row_per_key:
        repair = f"{cures.repair(spec.id)} reads again what differs and nothing else, as materializing the partitions of these windows reads all of them"
        return repair if spec.key_enforced else f"{repair}; {_NEVER_EQUAL}"
    return f"materialize the partitions of these windows, or read everything again with {cures.reset(spec)}"


def of_schema(spec: TableSpec, found: Difference) -> str:
    """What to do about columns that differ."""
    if not spec.evolve:
        return "put the source's columns back, or set `schema_changes: evolve` for this table"
    stuck = [each for each in found.retyped if not (spec.widens and each.is_wider)]
    if not stuck:
        return f"{cures.sync(spec.id)} follows"
    widened = all(each.is_wider for each in stuck)
    other = (
        "set `schema_changes: widen` for this table, which keeps the rows that are there"
        if widened
        else "put the type back"
    )
    return f"{other}; or read everything again with {cures.full_refresh(spec)}"
