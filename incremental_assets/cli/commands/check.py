"""`check`: are the copies fresh, free of duplicates, equal to their source, and do their columns match?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import DONE, FAILED, Answer, Cell, Grid, Note, Shown
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.progress import ProgressDisplay, progress_display
from incremental_assets.cli.reports import bounds
from incremental_assets.cli.selection import Selection, selected, with_problems
from incremental_assets.core.checks.run_checks import Scope, applicable, audit
from incremental_assets.core.checks.verdict import of_paused, unanswered
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.core.observing.occurrences import CheckEnded
from incremental_assets.core.words import counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_CURES = 10
"""Commands that are printed."""


@dataclass(frozen=True, slots=True)
class Options:
    """`only_failed`: passed checks are not shown. `is_strict`: what could not be checked is an error."""

    only_failed: bool = False
    is_strict: bool = False


def run(config: Path | None, patterns: Sequence[str], options: Options) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime, progress_display() as display, runtime.observer.joined_by(display):
        found = selected(runtime, patterns)
        # Dagster costs a second to import: only once there is something to be checked.
        from incremental_assets.cli.dagster_checks import shown_in_dagster
        from incremental_assets.defs.translation import Translation, keys_of

        keys = keys_of((spec.id for spec in found.specs), Translation.of_file(runtime.configuration))
        with shown_in_dagster(keys, display.say) as shown, runtime.observer.joined_by(shown):
            verdicts = list(_verdicts(runtime, found, display))
    return with_problems(answer(sorted(verdicts, key=_place), options), found)


def _place(verdict: Verdict) -> tuple[TableId, int]:
    return verdict.table, list(Check).index(verdict.check)


def answer(verdicts: Sequence[Verdict], options: Options) -> Answer:
    """Failures first, then what passed, then the sum; exit 1 if one has failed as an error, or was not checked and has to be."""
    broken = [verdict for verdict in verdicts if not verdict.passed]
    errors = [verdict for verdict in broken if verdict.severity is Severity.ERROR]
    warned = [verdict for verdict in broken if verdict.severity is not Severity.ERROR]
    passed = [] if options.only_failed else [verdict for verdict in verdicts if verdict.passed]
    shown: list[Shown] = [_grid([*errors, *warned])]
    shown += [
        Note(
            f"{verdict.table} {verdict.check}: {'rows whose hash is' if verdict.by_hash else 'keys such as'} {', '.join(verdict.samples)}",
            "bad",
        )
        for verdict in broken
        if verdict.samples
    ]
    shown += _cures([*errors, *warned])
    unchecked = sum(not verdict.was_checked for verdict in warned)
    has_failed = bool(errors) or (options.is_strict and unchecked > 0)
    summary = _summary(verdicts, errors=len(errors), warnings=len(warned) - unchecked, unchecked=unchecked)
    shown += [_grid(passed), Note(summary, "bad" if has_failed else "strong")]
    document = {"checks": [_entry(verdict) for verdict in (broken if options.only_failed else verdicts)]}
    return Answer(document, tuple(shown), FAILED if has_failed else DONE)


def _summary(verdicts: Sequence[Verdict], *, errors: int, warnings: int, unchecked: int) -> str:
    tables = counted(len({verdict.table for verdict in verdicts}), "table")
    rest = [f"{errors:,} failed"] if errors else []
    rest += [counted(warnings, "warning")] if warnings else []
    rest += [f"{unchecked:,} not checked"] if unchecked else []
    passed = len(verdicts) - errors - warnings - unchecked
    return ", ".join([f"{passed:,} of {counted(len(verdicts), 'check')} passed", *rest]) + f" ({tables})"


def _cures(broken: Sequence[Verdict]) -> Iterator[Note]:
    """What to do about the worst; of hundreds the rest is more of the same."""
    cured = [verdict for verdict in broken if verdict.cure]
    for verdict in cured[:_CURES]:
        yield Note(f"{verdict.table} {verdict.check}: {verdict.cure}", wrap=False)
    if len(cured) > _CURES:
        yield Note(
            f"{len(cured) - _CURES:,} more can be put right in these ways; `check --json` has the command for each"
        )


def _grid(verdicts: Sequence[Verdict]) -> Grid:
    return Grid(("table", "check", "result", "found"), tuple(map(_row, verdicts)), prose=("found",))


def _verdicts(runtime: Runtime, found: Selection, display: ProgressDisplay) -> Iterator[Verdict]:
    runtime.expect_full_reads(spec.id for spec in found.specs)
    for source in runtime.configuration.sources:
        specs = found.of(source.name)
        display.begin(spec.id for spec in specs)
        if not specs:
            continue
        scope, counts = Scope(source.parallel.checks, quiet=source.quiet), Counter[TableId]()
        for verdict in audit(specs, scope, partial(terms_of, source), runtime.ports(source.name)):
            counts[verdict.table] += 1
            of = len(applicable(terms_of(source, verdict.table)))
            result = "passed" if verdict.passed else "failed"
            display.show(verdict.table, f"{counts[verdict.table]} of {of} checks, {verdict.check} {result}")
            yield verdict
    pauses = runtime.checkpoints.pauses()
    for trouble in found.troubles:
        for check in applicable(trouble.terms):
            verdict = of_paused(unanswered(trouble.table, check, str(trouble.error)), pauses.of(trouble.table))
            runtime.observer.notify(CheckEnded(verdict))
            yield verdict


def _entry(verdict: Verdict) -> dict[str, Any]:
    return {
        "source": verdict.table.source,
        "table": render_table(verdict.table.schema, verdict.table.name),
        "check": str(verdict.check),
        "checked": verdict.was_checked,
        "passed": verdict.passed,
        "severity": str(verdict.severity),
        "window": verdict.window and bounds(verdict.window),
        "measured": verdict.measured,
        "quarantined": verdict.quarantined,
        "threshold": verdict.threshold,
        "samples": list(verdict.samples),
        "drifted": [bounds(window) for window in verdict.drifted],
        "detail": verdict.detail,
        "cure": verdict.cure or None,
    }


def _row(verdict: Verdict) -> tuple[Cell | str, ...]:
    word, tone = (
        ("passed", "good")
        if verdict.passed
        else ("not checked", "warn")
        if not verdict.was_checked
        else ("failed", "bad")
        if verdict.severity is Severity.ERROR
        else ("warns", "warn")
    )
    # What stops a table names it, which its line does already.
    found = verdict.detail.removeprefix(f"{verdict.table}: ")
    return str(verdict.table), str(verdict.check), Cell(word, tone), found
