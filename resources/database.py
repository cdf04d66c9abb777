"""A database of the configuration, opened."""

from __future__ import annotations

import re
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.core.config.addresses import absolute, checked_host, checked_name
from incremental_assets.core.config.database_settings import REFERABLE, DatabaseSettings, database_of
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.errors import ConfigurationError, Problem
from incremental_assets.core.model.mask import SHORTEST_KEY, MaskKey
from incremental_assets.core.model.paths import log_path
from incremental_assets.core.model.table_match import is_glob
from incremental_assets.resources.home import home_folder
from incremental_assets.resources.references import looked_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from incremental_assets.adapters.databases.dialect import Address, Reader
    from incremental_assets.adapters.databases.probe import SqlProbe
    from incremental_assets.adapters.delta.lake_part import Versions
    from incremental_assets.adapters.logs.registry import Logged
    from incremental_assets.adapters.ssh_route import Route
    from incremental_assets.core.ports import Source


class OpenDatabase:
    """Implements `core.ports.OpenSource`. Connects with the first question; what reads rows is made when rows are read."""

    def __init__(self, source: SourceConfig, file: Path, lake: str, session: Callable[[], SparkSession]) -> None:
        from incremental_assets.adapters.databases.probe import SqlProbe

        self._config, self._file, self._lake, self._session = source, file, lake, session
        self._address = address(source, file)
        self.probe: SqlProbe = (
            self._logged.probe(source.name) if source.reads_log else SqlProbe(self._address, source.name)
        )

    @cached_property
    def mask_key(self) -> MaskKey | None:
        """The key by which columns are masked; None where the source names none."""
        found, _ = looked_up(self._config, self._file)
        return MaskKey(found["mask_key"]) if "mask_key" in found else None

    @cached_property
    def source(self) -> Source:
        """The source, read for real; of one whose log is read, by that where a table says so."""
        from incremental_assets.adapters.databases.spark_source import SparkSource

        inner = SparkSource(self.probe, self._address, self._session)
        if not self._config.reads_log:
            return inner
        from incremental_assets.adapters.delta.copied_rows import copied_rows, held_keys, quarantined_rows

        rows = (partial(copied_rows, self._lake), partial(quarantined_rows, self._lake))
        return self._logged.source(inner, *rows, partial(held_keys, self._lake))

    @cached_property
    def reader(self) -> Reader:
        """Its rows as Spark takes them, with which a copy is compared."""
        from incremental_assets.adapters.databases.registry import dialect_of

        return dialect_of(self._address.dialect).reader(self._address)

    @property
    def versions(self) -> Versions | None:
        """The versions of tables that are read from the log, for their histories; None where none is read so."""
        return self._logged.versions if self._config.reads_log else None

    def close(self) -> None:
        """Close the connections that are kept."""
        self.probe.close()

    @property
    def _logged(self) -> Logged:
        from incremental_assets.adapters.logs.registry import logged

        terms = database_of(self._config).log
        return logged(self._address, terms, Path(log_path(self._lake, self._config.name, terms.folder)))


def _route(settings: DatabaseSettings, found: Mapping[str, str]) -> Route | None:
    """The way to it, where it is reached through a server of SSH."""
    from incremental_assets.adapters.ssh_route import Route

    ssh = settings.ssh
    if ssh is None:
        return None
    return Route(
        ssh.host,
        ssh.port,
        ssh.user,
        found["ssh_key"],
        found.get("ssh_passphrase", ""),
        ssh.known_hosts,
        settings.options.connect_timeout.total_seconds(),
    )


def open_probe(source: SourceConfig, file: Path) -> SqlProbe:
    """Light queries to the database; connects with the first of them."""
    from incremental_assets.adapters.databases.probe import SqlProbe

    return SqlProbe(address(source, file), source.name)


def address(source: SourceConfig, file: Path) -> Address:
    """The address of the source and the user who connects. ConfigurationError holds every reference without a usable value, at its line of `file`."""
    from incremental_assets.adapters.databases.dialect import Address

    settings = database_of(source)
    found, problems = looked_up(source, file)
    written = {key: getattr(settings, key) for key in REFERABLE}
    texts = {key: "" if value is None else str(value) for key, value in {**written, **found}.items()}
    is_file = facts_of(source.dialect).is_file
    # What a reference led to may be a secret by mistake, so that only the reference is shown.
    if (
        not problems
        and not is_file
        and not (re.fullmatch("[0-9]{1,5}", texts["port"]) and 0 < int(texts["port"]) < 65536)
    ):
        cure = "the value is not a port; write a number from 1 to 65535"
        problems.append(Problem(str(file), source.line_of("port"), str(settings.port), cure))
    for key, checked in (("host", checked_host), ("database", checked_name), ("user", checked_name)):
        if not problems and key in found:
            try:
                checked(found[key])
            except ValueError as error:
                cure = f"the value is not a {key}: {error}"
                problems.append(Problem(str(file), source.line_of(key), str(written[key]), cure))
    if "mask_key" in found and len(found["mask_key"]) < SHORTEST_KEY:
        cure = (
            f"the key has fewer than {SHORTEST_KEY} characters, so that it could be found by trying; write a longer one"
        )
        problems.append(Problem(str(file), source.line_of("mask_key"), str(settings.mask_key), cure))
    if problems:
        raise ConfigurationError(tuple(problems))
    named = (each.match.schema for each in source.matches if not is_glob(each.match.schema))
    return Address(
        dialect=source.dialect,
        host=texts["host"],
        port=int(texts["port"]),
        database=str(absolute(texts["database"], file.parent)) if is_file else texts["database"],
        user=texts["user"],
        password=texts["password"],
        tls=settings.tls,
        connect_timeout=settings.options.connect_timeout,
        socket_timeout=settings.options.socket_timeout,
        statement_timeout=settings.options.statement_timeout,
        # `schemas` says where unlisted tables are searched; a listed one may be in any schema.
        schemas=tuple(dict.fromkeys((*source.schemas, *(table.schema for table in source.tables), *named))),
        schema_globs=tuple(each.match.schema for each in source.matches if is_glob(each.match.schema)),
        ssh=_route(settings, found),
        fetch_size=settings.fetch_size,
        connections=source.parallel.connections,
        counted_in=str(home_folder() / "connections"),
    )
