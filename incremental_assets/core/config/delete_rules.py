"""What must hold between the keys of `deletes`, and between them and a strategy. Each mistake is a path below the table or the defaults."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.table_document import DeletesDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.deletes import DeleteMode, Then
from incremental_assets.core.strategies import Strategy, traits_of

Mistake = tuple[Path, str]

_KEYS = {DeleteMode.DIFF: ("every", "max_fraction", "then"), DeleteMode.SOFT: ("column", "is_", "then")}
_ENDS = {DeleteMode.DIFF: (Then.REMOVE, Then.MARK), DeleteMode.SOFT: (Then.KEEP, Then.REMOVE)}


def plain_mistakes(deletes: DeletesDocument) -> Iterator[Mistake]:
    """What is wrong whatever table it is for."""
    mode = deletes.mode
    for key in sorted(deletes.model_fields_set - {"mode"}):
        if key not in _KEYS.get(mode, ()):
            named = key.rstrip("_")
            modes = " and ".join(f"`{each}`" for each, keys in _KEYS.items() if key in keys)
            yield ("deletes", named), f"`{named}` belongs to {modes}, and this is `mode: {mode}`; remove one of the two"
    if deletes.then is not None and deletes.then not in _ENDS.get(mode, (deletes.then,)):
        choices = " or ".join(f"`then: {each}`" for each in _ENDS[mode])
        yield ("deletes", "then"), f"`mode: {mode}` takes {choices}"
    if mode is DeleteMode.SOFT and deletes.column is None:
        yield ("deletes",), "`mode: soft` needs the column in which the source marks its rows; add `column: …`"


def table_mistakes(deletes: DeletesDocument, strategy: Strategy, *, own: bool) -> Iterator[Mistake]:
    """What does not go with a strategy. A default says nothing to a table that is read whole."""
    if deletes.mode is DeleteMode.IGNORE:
        return
    if traits_of(strategy).overwrites:
        if own:
            yield (
                ("deletes",),
                f"`{strategy}` reads the whole table, so that what is gone from the source is gone from the copy; remove `deletes`",
            )
        return
    if not traits_of(strategy).keeps_versions:
        return
    where = "" if own else "the source's default does not fit here: "
    removes = deletes.then is Then.REMOVE or (deletes.then is None and deletes.mode is DeleteMode.DIFF)
    cure = "write `then: mark`, or `deletes: {mode: ignore}` at this table"
    if removes:
        yield (
            ("deletes",),
            f"{where}`{strategy}` keeps every version, so that `then: remove` has nothing to take away; {cure}",
        )
