"""Where nobody has credentials of a bucket, one sentence says where they were looked for, soon."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from incremental_assets.adapters.files.objects import Bucket
from incremental_assets.adapters.lake_store import credentials
from incremental_assets.adapters.lake_store.objects import ObjectStore
from incremental_assets.core.errors import LakeRefused, SourceRefused
from tests.adapters.lake_store.bucket import new_bucket, options

NONE = r"^s3a://bucket: nobody has credentials for it: not `stores`, not the environment \(AWS_ACCESS_KEY_ID, .*, and not the machine"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment that says nothing, and a machine that refuses."""
    for name in credentials._SAID:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(credentials, "_none_at", {})
    monkeypatch.setattr(credentials, "_SECONDS", 0.3)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_a_machine_that_has_none_is_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    with pytest.raises(LakeRefused, match=rf"{NONE} \(http://127\.0\.0\.1:1: .*refused.*\); write `access_key_id`"):
        ObjectStore("s3a://bucket", {}).list_from("s3a://bucket/lake")
    assert time.monotonic() - begun < 5


def test_a_machine_that_never_answers_is_asked_once_for_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        begun = time.monotonic()
        for _ in range(50):
            with pytest.raises(LakeRefused, match=rf"{NONE} .*timed out"):
                ObjectStore("s3a://bucket", {}).list_from("s3a://bucket/lake")
        assert time.monotonic() - begun < 5


def test_a_proxy_that_reaches_no_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://192.0.2.1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pytest.raises(LakeRefused, match=rf"{NONE} .*asked by a proxy, which NO_PROXY has to keep out\)"):
        ObjectStore("s3a://bucket", {}).list_from("s3a://bucket/lake")


def test_a_folder_of_files_says_it_as_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceRefused, match="s3://dropped: nobody has credentials for it"):
        Bucket.of("s3://dropped/in")


class Machine(BaseHTTPRequestHandler):
    """One that gives keys to whoever works there."""

    def do_PUT(self) -> None:
        self.answer(b"token")

    def do_GET(self) -> None:
        keys = b'{"Code": "Success", "AccessKeyId": "machine", "SecretAccessKey": "s", "Token": "t", "Expiration": "2099-01-01T00:00:00Z", "LastUpdated": "2026-01-01T00:00:00Z"}'
        self.answer(keys if self.path.endswith("/worker") else b"worker")

    def answer(self, text: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def machine() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Machine)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_the_keys_of_the_machine_are_taken(object_server: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", machine)
    root = new_bucket(object_server)
    said = {name: value for name, value in options(object_server).items() if "key" not in name}
    store = ObjectStore(root, said)
    store.put(f"{root}/lake/1.json", b"text")
    assert store.read(f"{root}/lake/1.json") == b"text"


@pytest.mark.parametrize("name", credentials._SAID)
def test_where_the_environment_says_something_the_machine_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "true")
    credentials.check("s3a://bucket", {})


def test_other_stores_have_credentials_of_other_names() -> None:
    credentials.check("gs://bucket", {})
    credentials.check("abfss://container@account.dfs.core.windows.net", {})
