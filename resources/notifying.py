"""Notifies the channels of a configuration of what there is to say to each."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from incremental_assets.core.config.resolve import resolve_all
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.extras import NOTIFY
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.incidents import incidents, message
from incremental_assets.resources.references import looked_up_channel

if TYPE_CHECKING:
    from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
    from incremental_assets.core.config.settings import ChannelConfig, Configuration
    from incremental_assets.core.model.incident import News

_log = logging.getLogger(__name__)


def notify(configuration: Configuration, checkpoints: SqlCheckpoints) -> None:
    """Say to each channel what nobody has said to it. One that does not take it is tried again in two minutes, and holds up no other."""
    situation = checkpoints.situation()
    if situation is None:
        return
    tables = _tables(configuration, checkpoints)
    for channel in configuration.notify:
        news = checkpoints.claim(channel.name, incidents(situation, tables, channel), situation.is_paused)
        if not news:
            continue
        try:
            deliver(channel, configuration, news)
        except IncrementalAssetsError as error:
            _log.warning("notify: %s", error)
        else:
            checkpoints.said(channel.name, news)


def check(channel: ChannelConfig, configuration: Configuration) -> None:
    """Raises SetupError, ConfigurationError and ChannelDown, whatever there is to say; sends nothing."""
    from incremental_assets.adapters.notifying.channels import check as checked

    NOTIFY.require()
    checked(channel.name, looked_up_channel(channel, configuration.path))


def deliver(channel: ChannelConfig, configuration: Configuration, news: News) -> None:
    """One message. Raises SetupError, ConfigurationError and ChannelDown."""
    from incremental_assets.adapters.notifying.channels import send

    NOTIFY.require()
    send(channel.name, looked_up_channel(channel, configuration.path), *message(news))


def _tables(configuration: Configuration, checkpoints: SqlCheckpoints) -> list[TableId]:
    """Those that are configured, by the catalogue last seen."""
    found = [resolve_all(each, checkpoints.catalogue(each.name) or ()) for each in configuration.sources]
    return [
        *(spec.id for resolved in found for spec in resolved.specs),
        *(problem.table for resolved in found for problem in resolved.problems),
    ]
