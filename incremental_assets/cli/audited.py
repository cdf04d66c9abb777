"""Writes down who asks for what, before it is done: whoever is killed in the middle of it has asked nevertheless."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


def audited(runtime: Runtime, act: Act, tables: Iterable[TableId], run_id: str, reason: str) -> None:
    """One row of the audit for each table."""
    runtime.checkpoints.record_deeds(act, tables, user(runtime), told(reason), run_id)


def user(runtime: Runtime) -> str:
    """Whoever runs this command, on which machine."""
    return runtime.checkpoints.installation().person


def told(reason: str) -> str:
    """A reason in one line."""
    return " ".join(reason.split())
