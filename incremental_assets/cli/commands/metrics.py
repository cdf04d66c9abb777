"""`metrics`: what the checkpoint database knows, for Prometheus: printed once, or served until Ctrl-C."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

from incremental_assets.cli.answer import Answer, Note
from incremental_assets.cli.exporter import Exporter
from incremental_assets.cli.lines import say
from incremental_assets.cli.metrics_server import PATH, MetricsServer
from incremental_assets.cli.opening import configured


def run(config: Path | None, host: str, port: int | None) -> Answer:
    """The command. Without a port, once; with one, Ctrl-C is how it is meant to end, so that the exit status is then 0."""
    from incremental_assets.resources.runtime import Runtime

    with closing(Runtime(configured(config), writes=False)) as runtime:
        exporter = Exporter(runtime)
        return _once(exporter.text()) if port is None else _served(exporter, host, port)


def _once(text: str) -> Answer:
    """The samples by their name and labels, and for people the text as it would be served."""
    samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return Answer(
        {"metrics": {name: float(value) for name, _, value in samples}}, (Note(text.rstrip("\n"), wrap=False),)
    )


def _served(exporter: Exporter, host: str, port: int) -> Answer:
    with MetricsServer(host, port, exporter.text) as server:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{server.server_port}{PATH}"
        say(f"metrics are served at {url}; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    return Answer({"url": url}, (Note("ended"),))
