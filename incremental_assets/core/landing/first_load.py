"""Decide whether the rows of a first load go straight to the target: pure.

Staged rows are written twice. Where nothing has landed yet there is nothing to be spoilt: the rows are committed under a sequence of their
own, without a position, and counted; the position follows in a commit of the sequence above. A run that dies in between leaves rows that
the next load replaces, and both sequences are fenced like any other.
"""

from __future__ import annotations

from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.target import Target

WORTH_IT = 64 * 2**20
"""Bytes in the source. For a few rows a second commit costs more than writing them twice; the break-even is estimated, not measured."""


def loads_directly(spec: TableSpec, request: Request, state: State | None, target: Target | None) -> bool:
    """Whether it may, as far as is known before the read: nothing has landed, and each row can land without a look at others."""
    is_first = state is None and (target is None or not target.landed) and not request.mode.reads_again
    looks = spec.trusts_key or spec.deletes.drops_marked or spec.contract is not None
    return is_first and not looks and spec.shape.bytes >= WORTH_IT
