"""Serves metrics by HTTP: one page, on loopback unless another address is given."""

from __future__ import annotations

import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from incremental_assets.core.errors import IncrementalAssetsError, SetupError
from incremental_assets.core.operations.exposition import CONTENT_TYPE

PATH = "/metrics"
_PLAIN = "text/plain; charset=utf-8"


class MetricsServer(ThreadingHTTPServer):
    """Answers each request from `text`. A checkpoint database that does not answer is a 503, so that Prometheus says `up == 0`."""

    daemon_threads = True

    def __init__(self, host: str, port: int, text: Callable[[], str]) -> None:
        self.text = text
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise SetupError(
                f"metrics cannot be served on {host}:{port} ({error.strerror or error}); choose another address with --host and --port"
            ) from None


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "incremental-assets", ""
    timeout = 10
    """Seconds that a client may be silent."""
    server: MetricsServer

    def do_GET(self) -> None:
        """The page."""
        status, kind, body = self._answer()
        content = body.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815 - as above

    def _answer(self) -> tuple[HTTPStatus, str, str]:
        if self.path.partition("?")[0] != PATH:
            return HTTPStatus.NOT_FOUND, _PLAIN, f"the metrics are at {PATH}\n"
        try:
            return HTTPStatus.OK, CONTENT_TYPE, self.server.text()
        except IncrementalAssetsError as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, _PLAIN, f"{error}\n"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """A line for each scrape would say nothing."""
