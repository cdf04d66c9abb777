"""What the log of a Delta table holds: the ends and the parts that it keeps of files, what statements were given, and what our commits say of themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.commit_metadata import MARK
from incremental_assets.adapters.erasure.parquet import held
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.core.model.erasure import Holds
from incremental_assets.core.model.key_text import canonical

Action = Mapping[str, Any]

NO_NAMES: Mapping[str, str] = MappingProxyType({})
_PREFIX = 32
"""Characters that Delta keeps of a text; of the highest, others may follow."""
_ENDS = ("minValues", "maxValues")
_OF_NOBODY = frozenset(
    {"seq", "rows", "app_id", "batch_id", "version", "clock", "looked", "identity", "terms", "columns", "definition"}
)
"""Of a state what is no position: numbers there are counts."""
_PHYSICAL = "delta.columnMapping.physicalName"


def of_commit(data: bytes, search: Search) -> frozenset[Holds]:
    """Of a commit, or of what a writer that died has left of one."""
    found = {Holds.TEXT} if search.texts.search(data) else set()
    lines, whole = _lines(data)
    found.update(of_actions(lines, search))
    return frozenset(found if whole else {*found, Holds.UNREADABLE})


def of_checksum(data: bytes, search: Search) -> frozenset[Holds]:
    """Of a checksum, which has the files of a small table with their ends."""
    found = {Holds.TEXT} if search.texts.search(data) else set()
    try:
        told = json.loads(data)
        found.update(of_actions(({"add": each} for each in told.get("allFiles") or ()), search))
    except (ValueError, AttributeError, TypeError):
        found.add(Holds.UNREADABLE)
    return frozenset(found)


def of_checkpoint(data: bytes, search: Search) -> frozenset[Holds]:
    """Of a checkpoint, or of a file that one is in parts of."""
    found = set(held(data, Search(search.subjects, keyed=False)))
    if Holds.UNREADABLE not in found:
        found.update(of_actions(actions_in(data), search))
    return frozenset(found)


def actions_in(data: bytes) -> Iterator[Action]:
    """The actions of a checkpoint; none of what is no Parquet file."""
    try:
        with pq.ParquetFile(BytesIO(data)) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist(maps_as_pydicts="lossy")
    except (pa.ArrowException, OSError):
        return


def names_in(
    actions: Iterable[Action], key: Iterable[str], source_names: Mapping[str, str] = NO_NAMES
) -> Mapping[str, frozenset[str]]:
    """Under which names files have the columns of a key, by the schemas that the log has had: those of the copy, and of the source, as a copy may have had before."""
    names: dict[str, set[str]] = {each: {each} for each in key}
    for action in actions:
        for column in json.loads((action.get("metaData") or {}).get("schemaString") or '{"fields": []}')["fields"]:
            for each in names:
                if column["name"].lower() in (each.lower(), source_names.get(each, each).lower()):
                    names[each] |= {column["name"], column.get("metadata", {}).get(_PHYSICAL, column["name"])}
    return {name: frozenset(found) for name, found in names.items()}


def commit_actions(data: bytes) -> list[Action]:
    """The actions of a commit, as far as it can be read."""
    return _lines(data)[0]


def of_actions(actions: Iterable[Action], search: Search) -> Iterator[Holds]:
    """What each of them holds."""
    for action in actions:
        for kind in ("add", "remove", "cdc"):
            if action.get(kind):
                yield from _of_file(action[kind], search)
        if action.get("commitInfo"):
            yield from _of_info(action["commitInfo"], search)


def _of_file(told: Action, search: Search) -> Iterator[Holds]:
    stats = json.loads(told["stats"]) if told.get("stats") else {}
    parsed = told.get("stats_parsed") or {}
    ends = [each.get(name) or {} for each in (stats, parsed) for name in _ENDS]
    if _all_parts(ends, search):
        yield Holds.STATISTICS
    parts = [told.get("partitionValues") or {}, told.get("partitionValues_parsed") or {}]
    if _all_parts(parts, search):
        yield Holds.TEXT


def _all_parts(told: Iterable[Action], search: Search) -> bool:
    """Whether each column of the key has one of its values among these."""
    seen: dict[str, set[str]] = {}
    for values in told:
        for name, value in values.items():
            part = search.part(name)
            if part is not None and value is not None:
                seen.setdefault(part, set()).add(canonical(value))
    return len(seen) == len(search.key) > 0 and any(
        all(any(_is_kept(text, end) for end in seen[part]) for part, text in zip(search.key, key, strict=True))
        for key in search.keys
    )


def _is_kept(text: str, end: str) -> bool:
    return text == end or (len(text) > _PREFIX <= len(end) and text[:_PREFIX] == end[:_PREFIX])


def _of_info(info: Action, search: Search) -> Iterator[Holds]:
    if search.all_texts.search(json.dumps(info.get("operationParameters"), ensure_ascii=False, default=str).encode()):
        yield Holds.TEXT
    note = _read(info.get("userMetadata"))
    if not isinstance(note, dict) or MARK not in note:
        if note is not None and search.all_texts.search(json.dumps(note, ensure_ascii=False).encode()):
            yield Holds.TEXT
        return
    state = note.get("state") or {}
    position = {name: value for name, value in state.items() if name not in _OF_NOBODY}
    if search.all_texts.search(json.dumps(position, ensure_ascii=False).encode()):
        yield Holds.POSITION


def _read(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _lines(data: bytes) -> tuple[list[Action], bool]:
    """The actions, and whether every line was one."""
    found: list[Action] = []
    whole = True
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            action = json.loads(line)
        except ValueError:
            whole = False
            continue
        if isinstance(action, dict):
            found.append(action)
    return found, whole
