"""The findings on tables that are read from their source's log: pure, from a look at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incremental_assets.cli.findings.finding import SQL, Finding, Health, warn
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.model.table import TableSpec


def of_log(specs: Sequence[TableSpec], seen: Sequence[LogSeen | None]) -> Iterator[Finding]:
    """Whether each can be read from it, and how much of it the source keeps for us."""
    for spec, found in zip(specs, seen, strict=True):
        if found is None:
            continue
        name = str(spec.id)
        error = found.refused or found.behind
        if error is not None:
            yield Finding(name, "log", Health.FAIL, str(error).removeprefix(f"{name}: "), SQL)
        elif found.warnings:
            yield warn(spec.id.source, "log", found.warnings[0], "sync its tables, and end what has been open for long")
        else:
            yield Finding(
                name,
                "log",
                Health.OK,
                f"read from the log, of which the source keeps {found.kept_bytes >> 20:,} MiB for it",
            )
