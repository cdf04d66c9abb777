"""What syncs are about to do, as `plan --json` writes it, and as a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from incremental_assets.cli.answer import DONE, Answer, Cell, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.cli.reports import short, text
from incremental_assets.cli.selection import Trouble
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.deletes import IGNORED
from incremental_assets.core.model.guarantee import Guarantee, stated
from incremental_assets.core.model.history import History
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.retention import OldFiles
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import NothingToDo
from incremental_assets.core.planning.reading import Reading
from incremental_assets.core.preview.preview import FileStep, Preview, SchemaStep
from incremental_assets.core.words import agreeing, byte_size, counted

_NAMED = 2
"""The most index names that are printed for a table: each of its partitions has its own."""
_SPELT_OUT = 5
"""The most tables whose SQL, or whose terms, are printed; `--json` has those of all."""


def answer(previews: Sequence[Preview], troubles: Sequence[Trouble]) -> Answer:
    """Every table, then what it destroys, then the SQL of a few; exit 1 if a sync would stop."""
    reads = [each for each in previews if each.plan is not None]
    stops = [each for each in previews if each.error is not None]
    errors = [each.error for each in stops if each.error] + [trouble.error for trouble in troubles]
    rows = (*(_row(each) for each in previews), *(_troubled_row(each) for each in troubles))
    shown: list[Shown] = [
        Grid(
            ("table", "does", "rows", "window", "served by", "guarantee", "schema", "files", "because"),
            rows,
            right=frozenset({"rows"}),
            spare=("window", "because", "files", "served by", "schema"),
        )
    ]
    shown += [Note(f"{each.spec.id}: {step}", "warn") for each in previews for step in each.destructive]
    shown += [Note(f"{each.spec.id}: {warning}", "warn") for each in previews for warning in each.warnings]
    shown += [Note(f"{each.spec.id}: {sentence}", "dim") for each in previews if (sentence := _old(each.old))]
    shown += [Note(sentence, "bad") for sentence in dict.fromkeys(str(error) for error in errors)]
    shown += _terms(previews)
    shown += _questions(reads)
    waiting = [due for each in previews if (due := _next_look(each)) is not None]
    idle = len(previews) - len(reads) - len(stops) - len(waiting)
    parts = [f"{counted(len(reads), 'table')} would be read", f"{idle} {agreeing(idle, 'stands', 'stand')} still"]
    if waiting:
        parts.append(
            f"{len(waiting)} would not be looked at before {min(waiting):%Y-%m-%d %H:%M}Z (`sync --now` looks)"
        )
    shown.append(Note(f"{', '.join(parts)}, {len(errors)} would stop; nothing was written", "strong"))
    document = {"tables": [*(_entry(each) for each in previews), *(_troubled(each) for each in troubles)]}
    return Answer(document, shown, worst([exit_code_of(error) for error in errors]) if errors else DONE)


def _old(found: Sequence[OldFiles]) -> str:
    """What the next pruning removes; nothing where no `retention` lets anything go."""
    files, size = sum(len(each.files) for each in found), sum(each.bytes for each in found)
    told = [f"the next pruning removes {counted(files, 'file')} of old versions ({byte_size(size)})"] if found else []
    told += [f"{each.place}: {each.left}" for each in found if each.left]
    since = [each.since for each in found if each.since]
    told += [f"versions since {max(since):%Y-%m-%d %H:%M}Z stay readable"] if since else []
    return "; ".join(told)


def _next_look(each: Preview) -> datetime | None:
    """When a sync looks at the table again; None where it would look now."""
    return each.decision.next_look if isinstance(each.decision, NothingToDo) and each.error is None else None


def _terms(previews: Sequence[Preview]) -> list[Note]:
    """Notes on condition, deletes, contract and history; none where more tables have them than are printed."""
    own = [each for each in previews if _has_terms(each.spec)]
    if len(own) > _SPELT_OUT:
        return []
    return [Note(f"{each.spec.id}: {sentence}", "dim") for each in own for sentence in each.terms.sentences]


def _has_terms(spec: TableSpec) -> bool:
    is_plain = spec.where is None and not spec.masks and spec.contract is None and spec.history is History.NONE
    return not is_plain or spec.deletes != IGNORED or bool(spec.register)


def _questions(reads: Sequence[Preview]) -> list[Note]:
    """Whole, so that it can be copied."""
    asked = [(each.spec.id, each.estimate.sql) for each in reads if each.estimate and each.estimate.sql]
    if len(asked) > _SPELT_OUT:
        return [Note("`--select` prints the SQL of a few tables, `--json` that of all", "dim")]
    return [Note(f"-- {table}\n{sql};", "dim", wrap=False) for table, sql in asked]


# --- for people ---------------------------------------------------------------------------------------


def _row(each: Preview) -> tuple[Cell | str, ...]:
    decision, plan = each.decision, each.plan
    if each.error is not None:
        does = Cell("stops", "bad")
    elif plan is None:
        does = Cell("rename", "good") if each.schema else Cell("nothing", "dim")
    else:
        does = Cell(f"{plan.request.mode} {plan.spec.strategy}", "warn" if each.destructive else "good")
    rows = each.estimate.rows if each.estimate else None
    return (
        str(each.spec.id),
        does,
        "" if rows is None else f"~{rows:,}",
        "" if plan is None else _window(plan.reading),
        _served(each),
        "" if decision is None or each.error is not None else stated(*_guarantee(each)[:2]),
        each.schema.outcome if each.schema and each.error is None else "",
        each.files.outcome if each.files and plan else "",
        _because(each),
    )


def _window(reading: Reading) -> str:
    if reading.behind:
        return f"behind {reading.behind}"
    lower, upper = short(reading.window.lower), short(reading.window.upper)
    return f"from {lower or 'the beginning'}{f' to before {upper}' if upper else ''}"


def _served(each: Preview) -> str:
    plan, estimate = each.plan, each.estimate
    if plan is None or estimate is None:
        return ""
    if plan.reading.finds_differing:
        copy = each.files.layout.live if each.files else None
        return "hashed on both sides" + (f" ({copy:,} in the copy)" if copy else "") + ", read where it differs"
    if plan.reading.behind:
        return capture_of(plan.spec).words
    if plan.reading.window.lower is None:
        return "read whole"
    if estimate.indexes:
        more = f" and {len(estimate.indexes) - _NAMED} more" if len(estimate.indexes) > _NAMED else ""
        rather = ", yet reading it whole is cheaper" if estimate.scans else ""
        return ", ".join(estimate.indexes[:_NAMED]) + more + rather
    return "no index: all of it is read" if estimate.scans else estimate.unknown


def _because(each: Preview) -> str:
    if each.error is not None:
        return _cause(each.spec.id, each.error)
    if isinstance(each.decision, NothingToDo):
        return each.decision.reason
    return _guarantee(each)[2]


def _troubled_row(trouble: Trouble) -> tuple[Cell | str, ...]:
    blank = ("" for _ in range(6))
    return (str(trouble.table), Cell("stops", "bad"), *blank, _cause(trouble.table, trouble.error))


def _cause(table: TableId, error: Exception) -> str:
    """What a sentence says between its table, or its place in the file, and its cure; the whole of it is below the table."""
    if isinstance(error, ConfigurationError) and error.problems:
        return f"{error.problems[0].text!r}: {error.problems[0].cure.partition(': ')[0]}"
    return str(error).removeprefix(f"{table}: ").partition(": ")[0].partition("; ")[0]


# --- for programs -----------------------------------------------------------------------------------


def _entry(each: Preview) -> dict[str, Any]:
    spec, plan, decision = each.spec, each.plan, each.decision
    guarantee, within, reason = _guarantee(each)
    settled = plan.reading.settled_at if plan else decision.settled if isinstance(decision, NothingToDo) else None
    return {
        "source": spec.id.source,
        "table": render_table(spec.id.schema, spec.id.name),
        "strategy": str(spec.strategy),
        "cursor": spec.read_by.column if spec.read_by else None,
        "key": list(spec.named_key),
        "compares": plan.reading.finds_differing if plan else capture_of(spec).finds_differing,
        "action": "stop" if each.error else "read" if plan else "nothing",
        "reason": decision.reason if isinstance(decision, NothingToDo) else None,
        "next_look": (due := _next_look(each)) and due.isoformat(),
        "window": {
            "lower": text(plan and plan.reading.window.lower),
            "upper": text(plan and plan.reading.window.upper),
            "settled": text(settled),
        },
        "previous_watermark": text(decision and decision.previous_watermark),
        "new_watermark": text(plan and plan.reading.new_watermark),
        "guarantee": guarantee and str(guarantee),
        "guarantee_reason": reason or None,
        "within_seconds": within and within.total_seconds(),
        "source_read": _estimate(each.estimate),
        "schema": _schema(each.schema),
        "files": _files(each.files),
        "where": None if spec.where is None else str(spec.where),
        "masks": {column.name: str(column.mask) for column in spec.masks},
        "deletes": each.terms.deletes or None,
        "contract": _contract(spec.contract),
        "history": None if spec.history is History.NONE else str(spec.history),
        "register": [
            {"catalogue": str(each.kind), "name": each.of(spec.id).name, "region": each.region or None}
            for each in spec.register
        ],
        "prunes": {"files": sum(len(old.files) for old in each.old), "bytes": sum(old.bytes for old in each.old)}
        if each.old
        else None,
        "destructive": list(each.destructive),
        "warnings": list(each.warnings),
        "error": str(each.error) if each.error else None,
    }


def _troubled(trouble: Trouble) -> dict[str, Any]:
    table = trouble.table
    return {
        "source": table.source,
        "table": render_table(table.schema, table.name),
        "strategy": str(trouble.terms.strategy),
        "action": "stop",
        "error": str(trouble.error),
    }


def _guarantee(each: Preview) -> tuple[Guarantee | None, timedelta | None, str]:
    decision = each.decision
    if decision is None:
        return None, None, ""
    if isinstance(decision, NothingToDo):
        return decision.guarantee, decision.within, decision.guarantee_reason
    promise = decision.reading.promise
    return promise.guarantee, promise.within, promise.reason


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "sql": estimate.sql or None,
        "rows": estimate.rows,
        "indexes": list(estimate.indexes),
        "scans": estimate.scans,
        "unknown": estimate.unknown or None,
    }


def _contract(contract: Contract | None) -> dict[str, Any] | None:
    if contract is None:
        return None
    rules = {each.column: {name: _written(value) for name, value in each.given.items()} for each in contract.rules}
    return {
        "model": contract.model or None,
        "rules": rules,
        "on_breach": str(contract.on_breach),
        "max_fraction": contract.max_fraction,
    }


def _written(value: object) -> object:
    """A constant as JSON has it: what it has no type for as text."""
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else str(value)


def _schema(schema: SchemaStep | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    found = schema.found
    return {
        "renamed": [{"was": each.before, "now": each.after} for each in schema.renames],
        "added": [{"name": each.name, "type": each.spark_type} for each in found.added],
        "dropped": [each.name for each in found.dropped],
        "retyped": [{"name": each.name, "was": each.was, "now": each.now} for each in found.retyped],
        "outcome": schema.outcome,
    }


def _files(files: FileStep | None) -> dict[str, Any] | None:
    if files is None:
        return None
    layout = files.layout
    return {
        "now": len(layout.sizes),
        "bytes": sum(layout.sizes),
        "rows": layout.live,
        "touched_at_most": files.touched,
        "outcome": files.outcome,
    }
