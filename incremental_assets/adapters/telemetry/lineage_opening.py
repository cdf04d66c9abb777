"""Opens OpenLineage's client as its own variables and its own file say it."""

from __future__ import annotations

import logging
import os

from incremental_assets.core.errors import SetupError
from incremental_assets.core.extras import OPENLINEAGE
from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.core.observing.observers import Observer

_NAMESPACE = "OPENLINEAGE_NAMESPACE"


def open_lineage(datasets: Datasets) -> Observer:
    """Events to whatever transport is configured. Raises SetupError without the extra, and where none is."""
    OPENLINEAGE.require()
    # Its own sentences name what fails with a traceback, for every event, and say of a missing transport that events are printed.
    logging.getLogger("openlineage").setLevel(logging.CRITICAL)
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.console import ConsoleTransport

    from incremental_assets.adapters.telemetry.lineage import Lineage
    from incremental_assets.adapters.telemetry.sending import Sending

    client = OpenLineageClient()
    if isinstance(client.transport, ConsoleTransport):
        raise SetupError(
            "lineage has no receiver; set OPENLINEAGE_URL to that of one, or write a transport into openlineage.yml and its path into OPENLINEAGE_CONFIG"
        )
    # The address of a repository may hold a password, and the one in whose folder a process runs is not what syncs.
    client.config.facets.source_code_location.disabled = True
    sending = Sending(client.emit, "lineage")
    return Lineage(datasets, os.environ.get(_NAMESPACE) or "incremental-assets", sending.put, sending.close)
