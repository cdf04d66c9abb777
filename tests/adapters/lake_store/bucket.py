"""A store of objects on this machine (moto, in memory), and a relay before it that counts requests and does to some of them what stores do."""

from __future__ import annotations

import http.client
import logging
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from moto.server import ThreadedMotoServer

from incremental_assets.adapters.lake_store.objects import ObjectStore

QUICKLY = {
    "max_retries": 1,
    "retry_timeout": timedelta(seconds=20),
    "backoff": {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=2), "base": 2},
}
ANSWER = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>As it was told to.</Message><Token-0>t0ken</Token-0></Error>'
"""As AWS says it, which repeats what it was sent."""
LOCKED = "<DeleteResult><Error><Key>{key}</Key><Code>AccessDenied</Code><Message>Access Denied because object protected by object lock.</Message></Error></DeleteResult>"
_DENIED = "<Error><Key>{key}</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
_POLL = 0.01
"""Seconds after which a server that is to end looks whether it is: half a second without it, for each test."""
_BUCKETS = iter(range(1_000_000))
_KEPT = (
    "content-length",
    "content-type",
    "etag",
    "last-modified",
    "content-range",
    "accept-ranges",
    "x-amz-version-id",
)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server that only this machine reaches."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"{host}:{port}"
    finally:
        server.stop()


@dataclass
class Relay:
    """`faults`: what is done to the next requests of a method, in their order; what is not listed is only handed on.

    A fault is `503`, `409`, `400 ExpiredToken` (said without asking), `locked` (a removal is answered well, and says that the file stays), `500 after` and `cut after` (the request has its effect, and nobody hears of it), `cut`, or
    `unconditional` (handed on without its condition, as by a store that does not mind it).
    """

    server: str
    faults: dict[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    """Session tokens that came with requests."""
    within: str = ""
    """What the paths of requests hold to which something is done."""
    busy_until: float = 0.0
    """Until when (`time.monotonic`) each request is answered with SlowDown, unless `within` names others."""
    retry_after: str = ""
    """What it says then of when to come again."""
    keeps: bool = False
    """Whether nobody may remove anything, as where a role lacks that right: the answer is a good one, and says so of each file."""
    lock: Lock = field(default_factory=Lock)
    address: str = ""

    def fault(self, method: str, path: str) -> str:
        if self.within not in path:
            return ""
        if time.monotonic() < self.busy_until:
            return "503 SlowDown"
        with self.lock:
            waiting = self.faults.get(method, [])
            if waiting[:1] == ["unconditional"]:
                return waiting[0]
            return waiting.pop(0) if waiting else ""


class Handler(BaseHTTPRequestHandler):
    """One connection to a relay."""

    protocol_version = "HTTP/1.1"
    relay: Relay

    def do(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        with self.relay.lock:
            self.relay.asked.append(f"{self.command} {self.path.partition('?')[0]}")
            self.relay.tokens.add(self.headers.get("x-amz-security-token"))
        fault = self.relay.fault(self.command, self.path)
        if fault == "cut":
            self.close_connection = True
        elif fault == "locked":
            self.answer(200, {}, LOCKED.format(key=re.search("<Key>(.*?)</Key>", data.decode())[1]).encode())
        elif self.relay.keeps and self.command == "POST" and "delete" in self.path.partition("?")[2]:
            self.answer(200, {}, denied(data))
        elif fault[:3].isdigit() and not fault.endswith("after"):
            again = {"retry-after": self.relay.retry_after} if self.relay.retry_after else {}
            self.answer(int(fault[:3]), again, ANSWER.format(code=fault[4:] or "Scripted").encode())
        else:
            self.hand_on(data, fault)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do  # noqa: N815

    def hand_on(self, data: bytes, fault: str) -> None:
        status, headers, body = self.asked(data, conditional=fault != "unconditional")
        if fault == "cut after":
            self.close_connection = True
        elif fault == "500 after":
            self.answer(500, {}, b"<Error><Code>InternalError</Code></Error>")
        else:
            self.answer(status, headers, body)

    def asked(self, data: bytes, *, conditional: bool) -> tuple[int, dict[str, str], bytes]:
        there = http.client.HTTPConnection(self.relay.server)
        dropped = {"connection"} | (set() if conditional else {"if-none-match"})
        headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
        there.request(self.command, self.path, data, headers)
        answer = there.getresponse()
        body = answer.read()
        kept = {name.lower(): value for name, value in answer.getheaders() if name.lower() in _KEPT}
        there.close()
        return answer.status, kept, body

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def denied(asked: bytes) -> bytes:
    """What is said to a role that may not remove these files."""
    keys = re.findall("<Key>(.*?)</Key>", asked.decode())
    return f"<DeleteResult>{''.join(_DENIED.format(key=key) for key in keys)}</DeleteResult>".encode()


@contextmanager
def relaying(server: str) -> Iterator[Relay]:
    relay = Relay(server)
    listening = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"relay": relay}))
    relay.address = f"127.0.0.1:{listening.server_address[1]}"
    Thread(target=listening.serve_forever, args=(_POLL,), daemon=True).start()
    try:
        yield relay
    finally:
        listening.shutdown()
        listening.server_close()


def new_bucket(server: str) -> str:
    """The address of a bucket that has nothing in it."""
    name = f"bucket-{next(_BUCKETS)}"
    urllib.request.urlopen(urllib.request.Request(f"http://{server}/{name}", method="PUT")).close()
    return f"s3://{name}"


def options(server: str) -> dict[str, str]:
    """How it is reached."""
    return {
        "aws_endpoint": f"http://{server}",
        "aws_region": "us-east-1",
        "aws_access_key_id": "tester",
        "aws_secret_access_key": "no secret",
    }


def opened(server: str, root: str) -> ObjectStore:
    """A bucket."""
    return ObjectStore(root, options(server))
