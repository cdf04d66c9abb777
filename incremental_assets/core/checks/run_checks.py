"""Check tables that have landed: fresh, free of duplicates, equal to their source, with its columns."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from incremental_assets.core.checks.auto_repair import AutoRepair, auto_repaired
from incremental_assets.core.checks.cure import with_cure
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember, remember_windows
from incremental_assets.core.checks.verdict import (
    beside_quarantine,
    contract,
    duplicates,
    freshness_of,
    gone,
    history,
    lost_history,
    not_known,
    nothing_landed,
    of_paused,
    reconciliation,
    schema,
    unanswered,
    with_the_rest,
)
from incremental_assets.core.concurrency.background import as_they_end
from incremental_assets.core.config.settings import Freshness, TableConfig
from incremental_assets.core.differences.vanished import look_for_vanished
from incremental_assets.core.errors import IncrementalAssetsError, sentence_of
from incremental_assets.core.model.history import History
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.pause import Pauses
from incremental_assets.core.model.quiet import QuietTime
from incremental_assets.core.model.schema_drift import TargetColumn, difference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.core.model.window import Window
from incremental_assets.core.observing.occurrences import CheckBegun, CheckEnded
from incremental_assets.core.ports import Ports
from incremental_assets.core.strategies import traits_of
from incremental_assets.core.syncing.foreign_changes import seen_in
from incremental_assets.core.syncing.retry_once import retry_once

_log = logging.getLogger(__name__)

TermsOf = Callable[[TableId], TableConfig]
ChecksOf = Callable[[TableId], Collection[Check]]
WindowsOf = Callable[[TableSpec], Sequence[Window] | None]


def all_checks(_: TableId) -> Collection[Check]:
    """Every check."""
    return tuple(Check)


def everything(spec: TableSpec) -> None:
    """Every window that has settled."""


def applicable(terms: TableConfig) -> tuple[Check, ...]:
    """The checks that apply to a table: freshness if there is a limit, duplicates if rows have a key, contract if there is one, those of its history if it keeps one."""
    checks = [Check.RECONCILIATION, Check.SCHEMA]
    if not traits_of(terms.strategy).keeps_versions:
        checks.insert(0, Check.DUPLICATES)
    if terms.freshness != Freshness():
        checks.insert(0, Check.FRESHNESS)
    if terms.contract is not None:
        checks.append(Check.CONTRACT)
    if terms.history is not History.NONE:
        checks += [Check.CURRENT, Check.OVERLAP]
    return tuple(checks)


@dataclass(frozen=True, slots=True)
class Scope:
    """What is asked, `parallel` checks at a time, which is work for the source as well.

    `checks_of` names the checks of each table; `windows_of` restricts the reconciliation of an incremental table. With `auto_repair`, drift is
    repaired where the configuration says so. `quiet` is the time in which nobody looks at the source by himself.
    """

    parallel: int
    checks_of: ChecksOf = all_checks
    windows_of: WindowsOf = everything
    auto_repair: AutoRepair | None = None
    quiet: QuietTime | None = None


_LONGEST_FIRST = (
    Check.RECONCILIATION,
    Check.CURRENT,
    Check.OVERLAP,
    Check.DUPLICATES,
    Check.SCHEMA,
    Check.CONTRACT,
)
"""A long check that begins last runs alone at the end."""


def audit(specs: Sequence[TableSpec], scope: Scope, terms_of: TermsOf, ports: Ports) -> Iterator[Verdict]:
    """One verdict per table and applicable check, as they are reached; a check that could not run has not passed."""
    asked, pauses = {spec.id: _asked(spec, terms_of, scope) for spec in specs}, _pauses(ports)
    for spec in specs:
        if Check.RECONCILIATION in asked[spec.id]:
            _look_for_vanished(spec, ports)
    fresh = _freshness([spec for spec in specs if Check.FRESHNESS in asked[spec.id]], scope, terms_of, ports)
    read = as_they_end(
        (
            partial(_verdict, check, spec, terms_of(spec.id), ports, scope)
            for spec in sorted(specs, key=lambda spec: spec.shape.bytes, reverse=True)
            for check in _LONGEST_FIRST
            if check in asked[spec.id]
        ),
        scope.parallel,
    )
    by_id = {spec.id: spec for spec in specs}
    for found in chain(fresh, read):
        verdict = with_cure(of_paused(found, pauses.of(found.table)), by_id[found.table])
        ports.observer.notify(CheckEnded(verdict))
        yield verdict


def _pauses(ports: Ports) -> Pauses:
    """Nothing where the checkpoint table does not answer, as each check meets that, too, and says so."""
    try:
        return ports.checkpoints.pauses()
    except IncrementalAssetsError:
        return Pauses()


def _look_for_vanished(spec: TableSpec, ports: Ports) -> None:
    """Before anything is counted: rows that wait in quarantine for what the source has no more."""
    try:
        look_for_vanished(spec, uuid.uuid4().hex, ports)
    except Exception as error:  # noqa: BLE001 - each check meets it, too, and says so
        _log.debug("%s: whether the source still has what is in quarantine could not be asked: %s", spec.id, error)


def _asked(spec: TableSpec, terms_of: TermsOf, scope: Scope) -> tuple[Check, ...]:
    wanted = scope.checks_of(spec.id)
    return tuple(check for check in applicable(terms_of(spec.id)) if check in wanted)


def _verdict(check: Check, spec: TableSpec, terms: TableConfig, ports: Ports, scope: Scope) -> Verdict:
    ports.observer.notify(CheckBegun(spec.id, check))
    try:
        return retry_once(partial(_ask, check, spec, terms, ports, scope), spec.id, ports)
    except IncrementalAssetsError as error:
        return unanswered(spec.id, check, sentence_of(spec.id, error))
    except Exception as error:  # noqa: BLE001 - the other checks go on, whatever this one met
        _log.exception("%s: the check %s failed with an unexpected error", spec.id, check)
        return unanswered(spec.id, check, sentence_of(spec.id, error))


def _freshness(specs: Sequence[TableSpec], scope: Scope, terms_of: TermsOf, ports: Ports) -> Iterator[Verdict]:
    """All tables in one look."""
    if not specs:
        return
    try:
        positions = ports.checkpoints.positions()
        looks = [ObserveRequest(spec, positions[spec.id].state if spec.id in positions else None) for spec in specs]
        lags = ports.probe.lag(looks)
        bound = ports.probe.bound()
    except IncrementalAssetsError as error:
        yield from (unanswered(spec.id, Check.FRESHNESS, str(error)) for spec in specs)
        return
    for request, lag in zip(looks, lags, strict=True):
        spec = request.spec
        verdict = freshness_of(request, terms_of(spec.id).freshness, lag, bound, scope.quiet)
        yield _beside_quarantine(verdict, spec, ports) if verdict.was_checked else verdict


def _beside_quarantine(verdict: Verdict, spec: TableSpec, ports: Ports) -> Verdict:
    return beside_quarantine(verdict, ports.quarantine.held(spec), ports.quarantine.unfit(spec))


def _ask(check: Check, spec: TableSpec, terms: TableConfig, ports: Ports, scope: Scope) -> Verdict:
    position = ports.checkpoints.position(spec.id)
    if position.state is None:
        # A lost checkpoint table is no lake without a copy.
        is_there = position.open is None and bool(ports.reader.columns(spec))
        return not_known(spec.id, check) if is_there else nothing_landed(spec.id, check)
    if check is Check.RECONCILIATION:
        windows = scope.windows_of(spec)
        drift = reconcile(spec, terms.partitions, ports, windows)
        (remember if windows is None else remember_windows)(spec, drift, ports.checkpoints)
        auto_repair = scope.auto_repair
        verdict = (
            auto_repaired(spec, terms, drift, auto_repair, ports) if auto_repair else reconciliation(spec, terms, drift)
        )
        verdict = _beside_quarantine(verdict, spec, ports)
        if windows is None:
            return _unless_changed(verdict, spec, ports)
        return with_the_rest(verdict, terms, drift.looked_at, ports.checkpoints.verified().get(spec.id))
    if check.is_of_history:
        of_now = check is Check.CURRENT
        ask = ports.historian.differing_versions if of_now else ports.historian.overlapping_versions
        found, step = ask(spec), ports.historian.behind(spec)
        return lost_history(spec, check) if step and step.begins_again else history(spec, terms, check, found)
    columns = ports.reader.columns(spec)
    if not columns:
        return gone(spec.id, check)
    if check is Check.CONTRACT:
        return contract(spec, ports.quarantine.held(spec))
    if check is Check.DUPLICATES:
        return duplicates(spec, terms, ports.auditor.duplicates(spec)) if spec.key else _no_key(spec)
    return schema(spec, difference(spec.columns, [TargetColumn(name, kind) for name, kind in columns]))


def _unless_changed(verdict: Verdict, spec: TableSpec, ports: Ports) -> Verdict:
    """A copy that another writer has changed does not pass, even if every settled row is equal."""
    changed = seen_in(spec, ports.checkpoints.position(spec.id), ports.reader)
    return replace(verdict, passed=False, detail=f"{verdict.detail}; {changed}") if changed else verdict


def _no_key(spec: TableSpec) -> Verdict:
    return Verdict(
        spec.id,
        Check.DUPLICATES,
        passed=True,
        severity=Severity.WARN,
        detail="the table has no key, so no row can be a duplicate",
    )
