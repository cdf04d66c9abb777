"""What must hold between `columns: {mask: …}`, the other keys of a table, and its source. Each mistake is a path below the table, and its cure."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.dialects import facts_of, masking
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.mask import Mask

_AT: Path = ("columns", "mask")


def mistakes(table: TableDocument, dialect: str, *, has_key: bool) -> Iterator[tuple[Path, str]]:
    """What would leave values unmasked, or rows that cannot be compared."""
    if not table.columns.mask:
        return
    if dialect and not facts_of(dialect).masks:
        yield (
            _AT,
            f"columns are masked of {', '.join(masking())}, and this source is {dialect}; leave them out by `exclude`, or mask them in a view",
        )
        return
    if table.capture is not None:
        yield (
            _AT,
            "what is read of the log is kept on disk as it came until it has landed; write a cursor in place of `capture`, or leave the columns out by `exclude`",
        )
    if table.compare is not None:
        yield (
            _AT,
            "rows are compared by hashes of what the source has, which no masked value is part of; write a cursor or `full_refresh`, or leave the columns out by `exclude`",
        )
    if table.contract is not None and not isinstance(table.contract, dict):
        yield (
            _AT,
            "a model judges whole rows, and would be shown masked ones; write the rules of other columns, or remove `contract`",
        )
    tokens = [name for name, mask in table.columns.mask.items() if mask is Mask.HMAC]
    if tokens and not has_key:
        yield (
            (*_AT, tokens[0]),
            "tokens need a key, and the source has none; write `mask_key: {env: …}` at the source, or another mask",
        )
