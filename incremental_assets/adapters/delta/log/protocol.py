"""What a table asks of its readers and writers: a list of features, or the versions before these had names, where it asks for none. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Protocol = Mapping[str, Any]

_ALWAYS = ("invariants", "appendOnly")
"""Features of writers that are properties of every table, and ask nothing until a column or a property makes use of them."""
_PLAIN: Protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
"""What has no others, which readers of any age know."""
_NAMED = (3, 7)
READERS, WRITERS = "readerFeatures", "writerFeatures"


def asking_for(features: Sequence[str]) -> Protocol:
    """The protocol of a table whose readers and writers have to know these features."""
    if not features:
        return _PLAIN
    reader, writer = _NAMED
    return {
        "minReaderVersion": reader,
        "minWriterVersion": writer,
        READERS: list(features),
        WRITERS: [*features, *_ALWAYS],
    }


def names_features(protocol: Protocol) -> bool:
    """Whether all that a table asks for is a feature with a name, or nothing."""
    versions = (protocol.get("minReaderVersion"), protocol.get("minWriterVersion"))
    return versions in (_NAMED, tuple(_PLAIN.values()))


def of_readers(protocol: Protocol) -> tuple[str, ...]:
    """The features that a reader has to know."""
    return tuple(protocol.get(READERS) or ())


def with_feature(protocol: Protocol, feature: str) -> Protocol:
    """The same, and one feature more."""
    if not of_readers(protocol):
        return asking_for([feature])
    return {**protocol, **{kind: list(dict.fromkeys([*protocol[kind], feature])) for kind in (READERS, WRITERS)}}


def without_feature(protocol: Protocol, feature: str) -> Protocol:
    """The same without it."""
    left = {kind: [each for each in protocol[kind] if each != feature] for kind in (READERS, WRITERS)}
    return {**protocol, **left} if left[READERS] or set(left[WRITERS]) - set(_ALWAYS) else _PLAIN
