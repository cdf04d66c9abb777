"""What must hold between a contract and the keys beside it. Each mistake is a path below the table."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.contracts import never_passable
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.contract import ColumnRules, OnBreach


def contract_mistakes(table: TableDocument) -> Iterator[tuple[Path, str]]:
    """What does not go together between a contract and the keys beside it."""
    beside = [key for key in ("on_breach", "max_fraction") if key in table.model_fields_set]
    if table.contract is None:
        for key in beside:
            yield (key,), f"`{key}` belongs to a `contract`, and this table has none; add one, or remove it"
    elif table.max_fraction is not None and table.on_breach is not OnBreach.QUARANTINE:
        yield (
            ("max_fraction",),
            f"`max_fraction` belongs to `on_breach: quarantine`, and this is `{table.on_breach}`; remove one of the two",
        )
    for column, rules in table.contract.items() if isinstance(table.contract, dict) else ():
        if not rules.model_fields_set:
            yield ("contract", column), "write at least one rule, such as `nullable: false`"
        elif slip := never_passable(ColumnRules(column=column, **dict(rules))):
            yield ("contract", column, slip[0]), slip[1]
