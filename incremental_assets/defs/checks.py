"""Checks of what has landed, as a separate op: run from the UI, by their job, or after a sync in the same run.

In a run on partitions the reconciliation looks at those windows only.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckKey,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSpec,
    Failure,
    In,
    Nothing,
    Out,
    op,
)

from incremental_assets.core.checks.auto_repair import AutoRepair
from incremental_assets.core.checks.repair import Repaired
from incremental_assets.core.checks.run_checks import Scope, applicable, audit
from incremental_assets.core.checks.verdict import unanswered
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.partition import Grid, window_of
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verdict import Check, Verdict
from incremental_assets.core.model.window import Window
from incremental_assets.defs.assets import selected
from incremental_assets.defs.in_flight import sign
from incremental_assets.defs.jobs import REPAIR_TAG
from incremental_assets.defs.names import check_pool, plain
from incremental_assets.defs.opened import Opened, opened
from incremental_assets.defs.repair import materializations
from incremental_assets.defs.tables import Known, View
from incremental_assets.defs.verdicts import evaluation_fields

RANGE_TAGS = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
PARTITION_TAG = "dagster/partition"

_ASKS = {
    Check.FRESHNESS: "How old is the oldest row of the source that has not landed, on the source's clock? A held-back watermark warns.",
    Check.DUPLICATES: "Is any key there more than once?",
    Check.RECONCILIATION: "Is every row that has settled in the source there as it is, by count and hash of each window?",
    Check.SCHEMA: "Are the columns those of the source?",
    Check.CONTRACT: "Are there rows that break the contract, which are held in quarantine?",
    Check.CURRENT: "Are the current versions the rows of the copy?",
    Check.OVERLAP: "Does each version of a key end where the next one begins, so that no two overlap?",
}


_IN_ONE_OP = 100
"""Tables. Dagster holds each input of an op against all of its checks, whenever it resolves a job."""


def check_assets(view: View) -> list[AssetChecksDefinition]:
    """Every check of every table of the source, in few ops that run those which are selected."""
    parts = [view.tables[first : first + _IN_ONE_OP] for first in range(0, len(view.tables), _IN_ONE_OP)]
    names = [plain("check", view.name, *([str(number)] if number else [])) for number in range(len(parts))]
    return [_op(view, name, tables) for name, tables in zip(names, parts, strict=True)]


def _op(view: View, name: str, tables: Sequence[Known]) -> AssetChecksDefinition:
    specs = {
        plain(known.id.schema, known.id.name, check): _spec(view, known, check)
        for known in tables
        for check in applicable(known.terms)
    }
    inputs = {plain(*key.path[1:]): key for key in view.asset_keys(known.id for known in tables)}

    @op(
        name=name,
        ins={name: In(Nothing) for name in inputs},
        out={name: Out(Nothing, is_required=False) for name in specs},
        pool=check_pool(view.name),
        required_resource_keys={view.resource},
    )
    def check(context: AssetCheckExecutionContext) -> Iterator[AssetCheckResult]:
        """Results as they are reached; a check that could not run has not passed."""
        runtime = opened(context.resources, view.resource)
        sign(context, runtime)
        try:
            repairs: list[tuple[TableSpec, Repaired]] = []
            auto_repair = AutoRepair(context.run.run_id, lambda spec, done: repairs.append((spec, done)))
            asked = Asked(
                context.selected_asset_check_keys,
                context.run.tags,
                auto_repair if REPAIR_TAG in context.run.tags else None,
            )
            for verdict in _verdicts(view, asked, runtime):
                while repairs:
                    _announce(context, view, *repairs.pop(0))
                yield AssetCheckResult(**evaluation_fields(verdict, view.keys))
        except IncrementalAssetsError as error:
            raise Failure(str(error)) from None

    return AssetChecksDefinition.create(
        keys_by_input_name=inputs, node_def=check, check_specs_by_output_name=specs, can_subset=True
    )


def _spec(view: View, known: Known, check: Check) -> AssetCheckSpec:
    # A duplicate key multiplies rows in every join, so downstream assets should wait.
    return AssetCheckSpec(
        str(check),
        asset=view.keys.checked(known.id, check),
        description=_ASKS[check],
        blocking=check is Check.DUPLICATES,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """The checks of a run, its tags, and whether drift is repaired."""

    keys: Collection[AssetCheckKey]
    tags: Mapping[str, str]
    auto_repair: AutoRepair | None


def _announce(context: AssetCheckExecutionContext, view: View, spec: TableSpec, done: Repaired) -> None:
    """Announce a repair by the check on its asset, so that what depends on the asset is updated."""
    for event in materializations(spec, view.keys.of(spec.id), terms_of(view.config, spec.id).partitions, done):
        context.op_execution_context.log_event(event)


def _verdicts(view: View, asked: Asked, runtime: Opened) -> Iterator[Verdict]:
    wanted = {(view.table_of(key.asset_key), Check(key.name)) for key in asked.keys}
    chosen, missing = selected(runtime.specs(view.name), {table for table, _ in wanted})
    schemes = {known.id: known.scheme for known in view.tables}

    def windows_of(spec: TableSpec) -> Sequence[Window] | None:
        grid = schemes[spec.id].grid
        return None if grid is None or spec.read_by is None else windows_of_run(grid, spec.read_by.type, asked.tags)

    for table, sentence in missing.items():
        yield from (unanswered(table, check, sentence) for each, check in sorted(wanted) if each == table)
    runtime.expect_full_reads(spec.id for spec in chosen if windows_of(spec) is None)
    terms = partial(terms_of, view.config)
    scope = Scope(
        view.config.parallel.checks,
        lambda table: [check for each, check in wanted if each == table],
        windows_of,
        asked.auto_repair,
        view.config.quiet,
    )
    yield from audit(chosen, scope, terms, runtime.ports(view.name))


def windows_of_run(grid: Grid, kind: CursorType, tags: Mapping[str, str]) -> Sequence[Window] | None:
    """The range of partitions of a run, None if it has none."""
    first, last = (tags.get(tag, tags.get(PARTITION_TAG)) for tag in RANGE_TAGS)
    if first is None or last is None:
        return None
    return (Window(window_of(grid, first, kind).lower, window_of(grid, last, kind).upper),)
