"""The actions of one commit, read with the checks that its log has for it: an empty or a cut file is no commit of nothing."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.adapters.delta.log.readable import readable
from incremental_assets.adapters.lake_store.store import Reading

ACTIONS = "incrementalAssetsActions"
"""What a commit of ours says of itself: how many actions it has, so that one that was cut between two of them is noticed."""
_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4si")


def actions_of(store: Reading, file: str) -> list[Mapping[str, Any]]:
    """The actions of a commit. Raises FileNotFoundError, NotByTasks for what is no text, TargetChanged for a file that is not whole."""
    log, _, name = file.rpartition("/")
    data = store.read(file)
    if not data.strip():
        raise damaged(log, name, "this version of the log is empty")
    if not store.promises.whole:
        _check_sum(store, log, name, data)
    with readable(f"version {int(name.removesuffix('.json'))} of the log"):
        text = data.decode()
    try:
        # By line feeds alone: a text may hold other signs that end a line.
        actions = [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError:
        raise damaged(log, name, "this version of the log is cut, or is no JSON") from None
    if not all(isinstance(each, dict) for each in actions):
        raise damaged(log, name, "this version of the log holds something else than actions")
    told = info_in(actions).get(ACTIONS)
    if told is not None and told != len(actions):
        raise damaged(log, name, f"this version of the log holds {len(actions)} of its {told} actions")
    return actions


def info_in(actions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What a commit says of itself."""
    return next((each["commitInfo"] for each in actions if isinstance(each.get("commitInfo"), dict)), {})


def _check_sum(store: Reading, log: str, name: str, data: bytes) -> None:
    """By the sums that Hadoop keeps beside each file that it writes to a disk: of so many bytes each, in a hidden file."""
    try:
        sums = store.read(f"{log}/.{name}.crc")
    except OSError:
        return
    if len(sums) < _HEADER.size:
        return
    magic, size = _HEADER.unpack_from(sums)
    if magic != _MAGIC or size <= 0:
        return
    found = b"".join(struct.pack(">I", zlib.crc32(data[at : at + size])) for at in range(0, len(data), size))
    if found != sums[_HEADER.size :]:
        raise damaged(log, name, f"this version of the log is not what its checksum ({name}.crc) says")
