"""Values that the configuration only refers to, looked up when a source is opened: secrets are read here and nowhere else."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

from incremental_assets.adapters.permissions import plain_file
from incremental_assets.core.config.settings import ChannelConfig, ErasureConfig, Reference, SourceConfig, StoreConfig
from incremental_assets.core.errors import ConfigurationError, Problem
from incremental_assets.core.model.mask import SHORTEST_KEY
from incremental_assets.resources.printed import printed_by

_LONGEST = 65_536
"""Bytes of a file that a reference names: no password, host or name has as many."""


def looked_up(source: SourceConfig, file: Path) -> tuple[dict[str, str], list[Problem]]:
    """What the references in the settings of a source lead to, by their fields; and a problem for each without a usable value, at its line of `file`."""
    return _values(source.settings, source.line_of, file)


def looked_up_address(source: SourceConfig, file: Path) -> tuple[dict[str, str], list[Problem]]:
    """The same without what nobody but the source may see, for whoever only names it."""
    return _values(source.settings, source.line_of, file, but=source.settings.secrets)


def looked_up_store(store: StoreConfig, file: Path) -> dict[str, str]:
    """The same of a store. Raises ConfigurationError."""
    values, problems = _values(store, lambda _: store.line, file)
    if problems:
        raise ConfigurationError(tuple(problems))
    return values


def looked_up_channel(channel: ChannelConfig, file: Path) -> str:
    """The address of a channel. Raises ConfigurationError."""
    values, problems = _values(channel, lambda _: channel.line, file)
    if problems:
        raise ConfigurationError(tuple(problems))
    return values["url"]


def looked_up_erasure(erasure: ErasureConfig, file: Path) -> str | None:
    """The key of erasures; None where none is named. Raises ConfigurationError."""
    values, problems = _values(erasure, lambda _: erasure.line, file)
    found = values.get("key")
    if found is not None and len(found) < SHORTEST_KEY:
        cure = (
            f"the key has fewer than {SHORTEST_KEY} characters, so that it could be found by trying; write a longer one"
        )
        problems.append(Problem(str(file), erasure.line, str(erasure.key), cure))
    if problems:
        raise ConfigurationError(tuple(problems))
    return found


def _values(
    settings: object, line_of: Callable[[str], int], file: Path, but: tuple[Reference, ...] = ()
) -> tuple[dict[str, str], list[Problem]]:
    values: dict[str, str] = {}
    problems: list[Problem] = []
    for name in _fields(settings):
        reference = getattr(settings, name)
        if isinstance(reference, Reference) and reference not in but:
            try:
                values[name] = _look_up(reference)
            except LookupError as error:
                problems.append(Problem(str(file), line_of(name), str(reference), str(error.args[0])))
    return values, problems


def digest_of(values: Mapping[str, str]) -> str:
    """By which other values are recognised, and none is kept."""
    return hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()


def _fields(settings: object) -> list[str]:
    return [each.name for each in fields(settings)] if is_dataclass(settings) else []


def _look_up(reference: Reference) -> str:
    """The value of a reference; LookupError says in half a sentence why there is none. The value itself is never quoted."""
    if reference.kind == "env":
        value = os.environ.get(reference.name, "")
        if not value:
            raise LookupError(
                f"the environment variable {reference.name} is not set; export it where this program runs"
            )
        if not _is_text(value):
            raise LookupError(f"the environment variable {reference.name} is not UTF-8 text; export it as UTF-8")
        return value
    if reference.kind == "command":
        return _checked(printed_by((reference.name, *reference.arguments)), "what the program printed")
    try:
        # Editors and `echo` end a file with a newline, which is no part of a secret.
        value = _text_of(Path(reference.name)).rstrip("\r\n")
    except FileNotFoundError:
        raise LookupError("there is no such file; create it, or name another") from None
    except UnicodeDecodeError:
        raise LookupError("the file is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise LookupError(f"the file cannot be read ({error.strerror}); check its permissions") from None
    if not value:
        raise LookupError("the file is empty; write the value into it")
    return _checked(value, "the file")


def _checked(value: str, what: str) -> str:
    if not _is_text(value):
        raise LookupError(f"{what} contains a NUL, which no value can; remove it")
    return value


def _text_of(file: Path) -> str:
    """The text of a file. Raises LookupError for a pipe or a device, which is not read, and for more than _LONGEST bytes; OSError, UnicodeDecodeError."""
    descriptor = plain_file(file)
    if descriptor is None:
        raise LookupError("this is no file, but a pipe or a device; name a file")
    with os.fdopen(descriptor, "rb") as opened:
        text = opened.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise LookupError(f"the file has more than {_LONGEST:,} bytes; write the value alone into it")
    return text.decode()


def _is_text(value: str) -> bool:
    """Whether a database can be handed it: bytes that are none of UTF-8 arrive from the environment as halves of characters."""
    return not re.search(r"[\x00\ud800-\udfff]", value)
