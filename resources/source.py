"""A source of the configuration, opened: its secrets are resolved here and nowhere else."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.adapters.permissions import plain_file
from incremental_assets.core.config.addresses import absolute, checked_host, checked_name
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.config.settings import REFERABLE, Reference, SourceConfig
from incremental_assets.core.errors import ConfigurationError, Problem
from incremental_assets.core.model.paths import log_path
from incremental_assets.resources.home import home_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from incremental_assets.adapters.databases.dialect import Address
    from incremental_assets.adapters.databases.probe import SqlProbe
    from incremental_assets.adapters.logs.registry import Logged
    from incremental_assets.core.ports import Source

_LONGEST = 65_536
"""Bytes of a file that a reference names: no password, host or name has as many."""


def open_probe(source: SourceConfig, file: Path, lake: str = "") -> SqlProbe:
    """Light queries to the source; connects with the first of them."""
    if source.reads_log:
        return _logged(source, address(source, file), lake).probe(source.name)
    from incremental_assets.adapters.databases.probe import SqlProbe

    return SqlProbe(address(source, file), source.name)


def open_reader(probe: SqlProbe, where: Address, session: Callable[[], SparkSession]) -> Source:
    """The source, read for real."""
    from incremental_assets.adapters.databases.spark_source import SparkSource

    return SparkSource(probe, where, session)


def open_logged_reader(inner: Source, source: SourceConfig, where: Address, lake: str) -> Source:
    """The source whose tables are read from its log, where some are."""
    if not source.reads_log:
        return inner
    from functools import partial

    from incremental_assets.adapters.databases.spark_source import SparkSource
    from incremental_assets.adapters.delta.copied_rows import copied_rows, quarantined_rows

    if not isinstance(inner, SparkSource):
        raise TypeError("a log is read beside the database that writes it")
    return _logged(source, where, lake).source(inner, partial(copied_rows, lake), partial(quarantined_rows, lake))


def _logged(source: SourceConfig, where: Address, lake: str) -> Logged:
    from incremental_assets.adapters.logs.registry import logged

    return logged(where, source.log, Path(log_path(lake, source.name)))


def address(source: SourceConfig, file: Path) -> Address:
    """The address of the source and the user who connects. ConfigurationError holds every reference without a usable value, at its line of `file`."""
    from incremental_assets.adapters.databases.dialect import Address

    problems: list[Problem] = []

    def text(key: str, value: str | int | Reference | None) -> str:
        if not isinstance(value, Reference):
            return "" if value is None else str(value)
        try:
            return _look_up(value)
        except LookupError as error:
            problems.append(Problem(str(file), source.line_of(key), str(value), str(error.args[0])))
            return ""

    is_file = facts_of(source.dialect).is_file
    host, port, database, user, password = (text(key, getattr(source, key)) for key in REFERABLE)
    # What a reference led to may be a secret by mistake, so that only the reference is shown.
    if not problems and not is_file and not (re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65536):
        problems.append(
            Problem(
                str(file),
                source.line_of("port"),
                str(source.port),
                "the value is not a port; write a number from 1 to 65535",
            )
        )
    found = {"host": (host, checked_host), "database": (database, checked_name), "user": (user, checked_name)}
    for key, (value, checked) in found.items():
        reference = getattr(source, key)
        if not problems and isinstance(reference, Reference):
            try:
                checked(value)
            except ValueError as error:
                cure = f"the value is not a {key}: {error}"
                problems.append(Problem(str(file), source.line_of(key), str(reference), cure))
    if problems:
        raise ConfigurationError(tuple(problems))
    return Address(
        dialect=source.dialect,
        host=host,
        port=int(port),
        database=str(absolute(database, file.parent)) if is_file else database,
        user=user,
        password=password,
        tls=source.tls,
        connect_timeout=source.options.connect_timeout,
        socket_timeout=source.options.socket_timeout,
        statement_timeout=source.options.statement_timeout,
        # `schemas` says where unlisted tables are searched; a listed one may be in any schema.
        schemas=tuple(dict.fromkeys((*source.schemas, *(table.schema for table in source.tables)))),
        fetch_size=source.fetch_size,
        connections=source.parallel.connections,
        counted_in=str(home_folder() / "connections"),
    )


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
    if not _is_text(value):
        raise LookupError("the file contains a NUL, which no value can; remove it")
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
