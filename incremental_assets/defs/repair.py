"""The job that repairs drift, and what a repair says on its asset."""

from collections.abc import Iterator

from dagster import (
    Array,
    AssetKey,
    AssetMaterialization,
    Failure,
    Field,
    JobDefinition,
    OpExecutionContext,
    String,
    job,
    op,
)

from incremental_assets.core.checks.repair import Repaired, attempt_repair, in_words
from incremental_assets.core.checks.verdict import reconciliation
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.partition import Grid, keys_within
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.observing.occurrences import CheckEnded
from incremental_assets.core.planning.report import Status
from incremental_assets.core.ports import Ports
from incremental_assets.defs import metadata
from incremental_assets.defs.in_flight import sign
from incremental_assets.defs.jobs import ONE_SESSION
from incremental_assets.defs.names import plain, pool
from incremental_assets.defs.opened import Opened, opened
from incremental_assets.defs.tables import View
from incremental_assets.defs.verdicts import report

TABLES = "tables"
"""The job's one setting."""
_MOST = 100
"""Partitions that are announced one by one."""


def repair_job(view: View) -> JobDefinition:
    """The job that repairs the drift which checks have found in the tables of a source."""
    tables = Field(
        Array(String),
        default_value=[],
        description="Tables as schema.table; empty: every table in which a check has found drift.",
    )

    @op(
        name=repair_op(view.name),
        config_schema={TABLES: tables},
        pool=pool(view.name),
        required_resource_keys={view.resource},
    )
    def repair(context: OpExecutionContext) -> None:
        """Fails at the end, by name, if any of the tables did."""
        runtime = opened(context.resources, view.resource)
        sign(context, runtime)
        try:
            specs, failures = _chosen(view, runtime, context.op_config[TABLES])
            ports = runtime.ports(view.name)
            for spec in specs:
                failures += _repair(context, view, spec, ports)
        except IncrementalAssetsError as error:
            failures = [str(error)]
        if failures:
            raise Failure("\n".join(failures)) from None

    @job(
        name=plain("repair", view.name, "job"),
        executor_def=ONE_SESSION,
        description=f"Reads again, by key, the rows of {view.name} in which the last check has found drift, and checks them again.",
        metadata=view.place,
    )
    def repairing() -> None:
        repair()

    return repairing


def repair_op(source: str) -> str:
    """The name under which the job is configured."""
    return plain("repair", source)


def materializations(
    spec: TableSpec, asset: AssetKey, grid: Grid | None, done: Repaired
) -> Iterator[AssetMaterialization]:
    """What a repair changed, on each partition that it looked at; once for the whole asset where there is none, or more than _MOST. Nothing unless it landed."""
    if done.report.status is not Status.LANDED:
        return
    entries = metadata.of_report(done.report, spec)
    keys = [key for window in done.windows for key in keys_within(grid, window)] if grid else []
    if not 0 < len(keys) <= _MOST:
        yield AssetMaterialization(asset, metadata=entries)
        return
    others = metadata.of_any_partition(entries, keys[-1])
    for key in keys[:-1]:
        yield AssetMaterialization(asset, partition=key, metadata=others)
    yield AssetMaterialization(asset, partition=keys[-1], metadata=entries)


def _repair(context: OpExecutionContext, view: View, spec: TableSpec, ports: Ports) -> list[str]:
    """One table; what went wrong, if anything did."""
    terms = terms_of(view.config, spec.id)
    done = attempt_repair(spec, terms.partitions, context.run.run_id, ports)
    if done.report.error is not None:
        return [done.report.error]
    for event in materializations(spec, view.keys.of(spec.id), terms.partitions, done):
        context.log_event(event)
    changed = in_words(done.report.rows) if done.report.status is Status.LANDED else done.report.reason
    context.log.info("%s: %s", spec.id, changed)
    if done.left is None:
        return []
    verdict = reconciliation(spec, terms, done.left)
    report(context.instance, verdict, view.keys)
    ports.observer.notify(CheckEnded(verdict))
    return [] if verdict.passed else [f"{spec.id}: after the repair, {verdict.detail}"]


def _chosen(view: View, runtime: Opened, names: list[str]) -> tuple[list[TableSpec], list[str]]:
    """The tables to be repaired, and a sentence for each name without a table that can be; without names, of every table with drift."""
    resolved = runtime.specs(view.name)
    by_name = {f"{spec.id.schema}.{spec.id.name}": spec for spec in resolved.specs}
    if not names:
        drifted = {table for table, known in runtime.checkpoints.verified().items() if known.drift}
        stuck = [str(problem.error) for problem in resolved.problems if problem.table in drifted]
        return [spec for spec in resolved.specs if spec.read_by is not None and spec.id in drifted], stuck
    known = [problem for problem in resolved.problems if f"{problem.table.schema}.{problem.table.name}" in names]
    errors = {f"{problem.table.schema}.{problem.table.name}": str(problem.error) for problem in known}
    missing = [name for name in names if name not in by_name]
    sentences = [errors.get(name) or f"{view.name}: there is no table {name!r}" for name in missing]
    return [by_name[name] for name in names if name in by_name], sentences
