"""A store that cannot be reached is said to be so with what is in the way: a certificate, a name, a port where nobody listens."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from incremental_assets.adapters.lake_store import objects
from incremental_assets.adapters.lake_store.objects import ObjectStore
from incremental_assets.core.errors import LakeRefused, StoreUnreachable

KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_region": "us-east-1"}
NEW = ("-newkey", "rsa:2048", "-nodes", "-days", "2")


class Handler(BaseHTTPRequestHandler):
    """Takes every file."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.send_header("etag", '"tag"')
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificate of an authority, and that of a server which it has signed."""
    folder = tmp_path_factory.mktemp("authority")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for asked in (
        ("req", "-x509", *NEW, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority"),
        ("req", *NEW[:-2], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=store"),
        ("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", "server.pem", "-extfile", "names"),
    ):  # fmt: skip
        subprocess.run(["openssl", *asked], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def server(authority: Path) -> Iterator[str]:
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    terms = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    terms.load_cert_chain(authority / "server.pem", authority / "server.key")
    listening.socket = terms.wrap_socket(listening.socket, server_side=True)
    Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    yield f"https://127.0.0.1:{listening.server_address[1]}"
    listening.shutdown()
    listening.server_close()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_RETRY", {"max_retries": 0, "retry_timeout": timedelta(seconds=1)})
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


def put(endpoint: str) -> None:
    ObjectStore("s3a://bucket", {**KEYS, "aws_endpoint": endpoint}).put("s3a://bucket/lake/1", b"text")


def test_a_certificate_whose_authority_is_not_known_is_named_with_the_cure(server: str) -> None:
    with pytest.raises(
        LakeRefused,
        match=r"the store is not asked \(.*its certificate is not accepted: UnknownIssuer\); .*`SSL_CERT_FILE`$",
    ):
        put(server)


def test_an_authority_of_a_file_is_known_until_the_file_is_gone(
    server: str, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "ca.pem"))
    put(server)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "gone.pem"))
    with pytest.raises(LakeRefused, match=r"its certificate is not accepted: .*gone\.pem, which is not there"):
        put(server)


def test_a_certificate_of_another_name_is_named(server: str, authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "ca.pem"))
    with pytest.raises(LakeRefused, match=r"its certificate is not accepted: NotValidForName"):
        put(server.replace("127.0.0.1", "localhost"))


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("http://127.0.0.1:1", "nobody listens there"),
        ("http://no-such-host.invalid", "its name is not known"),
    ],
)
def test_what_is_in_the_way_is_said(endpoint: str, why: str) -> None:
    with pytest.raises(StoreUnreachable, match=rf"the store did not answer \(.*: {why}\)"):
        put(endpoint)
