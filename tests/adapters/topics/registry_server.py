"""A registry of schemas that speaks HTTP, of this test's own: what Confluent's API answers to who asks for a schema."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.adapters.topics.avro import FakeRegistry

PATH = "/apis/ccompat/v7"


@dataclass
class RegistryServer:
    """Schemas by number, and those of subjects by version; `answer` stands for every answer where it is set: a status, and a text."""

    url: str = ""
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    access: tuple[str, str] | None = None
    answer: tuple[int, str] | None = None
    asked: list[str] = field(default_factory=list)
    memory: FakeRegistry = field(default_factory=FakeRegistry)

    def as_bytes(self, document: Any) -> bytes | None:
        """A record of a document, whose schema is there then."""
        data = self.memory.as_bytes(document)
        self.schemas |= {number: {"schema": texts[-1]} for number, texts in self.memory.texts.items()}
        return data

    def register(self, schema: Any, **more: Any) -> int:
        number = len(self.schemas) + 1
        self.schemas[number] = {"schema": json.dumps(schema)} | more
        return number

    def register_as(self, subject: str, schema: Any, **more: Any) -> None:
        """Its first version."""
        number = self.register(schema, **more)
        self.subjects[subject, 1] = self.schemas[number] | {"subject": subject, "version": 1, "id": number}

    def said(self, path: str, authorization: str | None) -> tuple[int, str]:
        self.asked.append(path)
        if self.answer is not None:
            return self.answer
        if self.access is not None:
            expected = "Basic " + base64.b64encode(":".join(self.access).encode()).decode()
            if authorization != expected:
                return 401, '{"error_code": 401, "message": "Unauthorized"}'
        match path.removeprefix(PATH).strip("/").split("/"):
            case ["schemas", "ids", number]:
                return _found(self.schemas.get(int(number)), 40403, "Schema not found")
            case ["subjects", subject, "versions", version]:
                return _found(self.subjects.get((unquote(subject), int(version))), 40401, "Subject not found")
            case _:
                return 404, "<html>not here</html>"


def _found(schema: dict[str, Any] | None, code: int, message: str) -> tuple[int, str]:
    if schema is None:
        return 404, json.dumps({"error_code": code, "message": message})
    return 200, json.dumps(schema)


@contextmanager
def registry_server(certificate: tuple[Path, Path] | None = None) -> Iterator[RegistryServer]:
    """One that runs on loopback, with TLS where it has a certificate and its key."""
    found = RegistryServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = found.said(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme, host = "http", "127.0.0.1"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme, host = "https", "localhost"
    found.url = f"{scheme}://{host}:{server.server_port}{PATH}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
