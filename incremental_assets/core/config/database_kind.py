"""The kind of source that a database is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from incremental_assets.core.config import log_rules
from incremental_assets.core.config.addresses import absolute
from incremental_assets.core.config.database_document import DatabaseDocument, LogDocument, SshDocument
from incremental_assets.core.config.database_rules import database_mistakes
from incremental_assets.core.config.database_settings import (
    ConnectionOptions,
    DatabaseSettings,
    LogTerms,
    SshTerms,
    Tls,
    is_loopback,
)
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.config.references import located
from incremental_assets.core.config.rules import Mistake
from incremental_assets.core.config.settings import BackfillTerms, SourceConfig


class DatabaseKind:
    """Implements `SourceKind`."""

    document = DatabaseDocument
    capture = ""

    def mistakes(self, document: DatabaseDocument, now: datetime) -> Iterator[Mistake]:
        """Of place, schemas, connections and grid."""
        return database_mistakes(document, now)

    def configured(self, document: DatabaseDocument, source: SourceConfig, folder: Path) -> SourceConfig:
        """With its address, and what is done with tables that are not listed."""
        return replace(
            source,
            settings=_settings(document, source.name, folder),
            schemas=document.searched,
            unlisted=document.unlisted,
            exclude=document.exclude,
            column_names=document.column_names,
            refresh_every=document.refresh_every,
            backfill=BackfillTerms(**dict(document.backfill)),
            partitions=document.partitions.grid,
        )


def _settings(document: DatabaseDocument, name: str, folder: Path) -> DatabaseSettings:
    facts, ssh = facts_of(document.dialect), document.ssh
    host = "" if document.host is None else located(document.host, folder)
    return DatabaseSettings(
        dialect=document.dialect,
        host=host,
        port=located(document.port, folder) if "port" in document.model_fields_set else facts.port,
        database=_named(document, folder),
        user="" if document.user is None else located(document.user, folder),
        password=None if document.password is None else located(document.password, folder),
        mask_key=None if document.mask_key is None else located(document.mask_key, folder),
        ssh=None if ssh is None else _ssh(ssh, folder),
        ssh_key=None if ssh is None else located(ssh.key, folder),
        ssh_passphrase=None if ssh is None or ssh.passphrase is None else located(ssh.passphrase, folder),
        tls=document.tls
        or (Tls.DISABLE if facts.is_file or (isinstance(host, str) and is_loopback(host)) else Tls.VERIFY_FULL),
        options=ConnectionOptions(**dict(document.options)),
        fetch_size=document.fetch_size,
        log=_log(document.log, name, folder),
    )


def _ssh(document: SshDocument, folder: Path) -> SshTerms:
    known = document.known_hosts
    return SshTerms(document.host, document.port, document.user, "" if known is None else str(absolute(known, folder)))


def _named(document: DatabaseDocument, folder: Path) -> Any:
    if document.database is None:
        raise ValueError("a source of several databases is configured as several sources")
    return (
        _file(document.database, folder) if facts_of(document.dialect).is_file else located(document.database, folder)
    )


def _file(value: Any, folder: Path) -> Any:
    return str(absolute(value, folder)) if isinstance(value, str) else located(value, folder)


def _log(document: LogDocument, source: str, folder: Path) -> LogTerms:
    slot, kept = log_rules.slot_of(document, source), document.folder
    return LogTerms(
        slot,
        document.publication or slot,
        document.max_slot_lag or LogTerms().max_slot_lag,
        "" if kept is None else str(absolute(kept, folder)),
    )


DATABASE = DatabaseKind()
