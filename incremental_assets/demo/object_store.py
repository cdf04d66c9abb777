"""An embedded store of objects that speaks S3 on TCP loopback and keeps what it has on disk: SeaweedFS, from the program that `.ci/seaweedfs.sh` brings.

Requests to S3 are asked for the secret. Its own parts talk to each other on ports of this machine that ask nobody: for data that anybody here may see.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from incremental_assets.core.errors import SetupError
from incremental_assets.demo.ending import PATIENCE, end, running
from incremental_assets.demo.state import free_port

PROGRAM = Path(__file__).parents[2] / ".seaweedfs" / "weed"
HOST = "127.0.0.1"
KEY = "demo"
_PARTS = ("master", "volume", "filer", "s3")
_READY = "ready-bucket"


@dataclass(frozen=True, slots=True)
class _State:
    """`ports` by part, which stay: the parts remember each other by them."""

    ports: dict[str, tuple[int, int]]
    secret: str = field(repr=False)


class EmbeddedObjectStore:
    """One server per folder. Every method may be called in any state: starting twice is starting once."""

    title = "SeaweedFS"

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()
        self._file, self._log, self._pid_file = (self.folder / name for name in ("state.json", "server.log", "pid"))
        self._state = self._read()

    @property
    def address(self) -> str:
        """Host and port of S3."""
        return f"{HOST}:{self._known().ports['s3'][0]}"

    @property
    def secret(self) -> str:
        """Of KEY, which may do everything."""
        return self._known().secret

    @property
    def version(self) -> str:
        """Of the program."""
        found = subprocess.run([_program(), "version"], capture_output=True, text=True, check=True).stdout
        return found.split()[2]

    def options(self, address: str = "") -> Mapping[str, str]:
        """How it is reached, for a client; at its own address, unless by another."""
        return {
            "aws_endpoint": f"http://{address or self.address}",
            "aws_region": "us-east-1",
            "aws_access_key_id": KEY,
            "aws_secret_access_key": self.secret,
        }

    def start(self) -> Self:
        """Start the server, and return once it has all that it ever had. Raises SetupError."""
        program = _program()
        if self.is_running():
            return self
        self._state = self._state or self._create()
        with self._log.open("ab") as log:
            launched = subprocess.Popen(
                [program, "server", *self._arguments(self._state)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._pid_file.write_text(str(launched.pid), encoding="ascii")
        deadline = time.monotonic() + PATIENCE
        while not self._serves():
            if launched.poll() is not None or time.monotonic() > deadline:
                launched.kill()
                launched.wait()
                raise SetupError(f"The demo's {self.title} did not start; see {self._log}.")
            time.sleep(0.1)
        return self

    def stop(self) -> None:
        """Shut the server down, with all data written."""
        self._end(signal.SIGTERM)

    def crash(self) -> None:
        """Without a word."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        """Stops it and deletes its data."""
        self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._state = None

    def is_running(self) -> bool:
        """Whether it serves."""
        return self._state is not None and self._process() is not None and self._serves()

    def make_bucket(self, name: str) -> str:
        """Its address; it is there with its first object."""
        import obstore

        obstore.put(self._bucket(name), "made", b"")
        return f"s3://{name}"

    def _create(self) -> _State:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / "data").mkdir(exist_ok=True)
        state = _State({part: (free_port(), free_port()) for part in _PARTS}, secrets.token_urlsafe(24))
        rights = {"accessKey": KEY, "secretKey": state.secret}
        told = {"name": KEY, "credentials": [rights], "actions": ["Admin", "Read", "Write", "List"]}
        _write(self.folder / "s3.json", {"identities": [told]})
        _write(self._file, asdict(state))
        return state

    def _read(self) -> _State | None:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return _State({part: (first, second) for part, (first, second) in found["ports"].items()}, found["secret"])

    def _known(self) -> _State:
        if self._state is None:
            raise SetupError(f"There is no {self.title} in {self.folder} yet; run `make demo` first.")
        return self._state

    def _arguments(self, state: _State) -> list[str]:
        ports = [
            f"-{part}.port{suffix}={port}"
            for part, numbers in state.ports.items()
            for suffix, port in zip(("", ".grpc"), numbers, strict=True)
        ]
        own = [f"-dir={self.folder / 'data'}", f"-s3.config={self.folder / 's3.json'}", "-s3"]
        here = [f"-ip={HOST}", f"-ip.bind={HOST}", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
        return [*own, *here, *ports, "-master.volumeSizeLimitMB=256", "-volume.max=0"]

    def _serves(self) -> bool:
        """Whether what it held is read: its parts find each other after they are up."""
        import obstore
        from obstore.exceptions import BaseError

        try:
            store = self._bucket(_READY)
            obstore.put(store, f"starts/{uuid.uuid4()}", b"ready")
            was = [each["path"] for page in obstore.list(store, "starts") for each in page]
            return all(bytes(obstore.get(store, each).bytes()) == b"ready" for each in was)
        except (BaseError, OSError):
            return False

    def _bucket(self, name: str) -> Any:
        # Inside the function: the client is an extra.
        from obstore.store import S3Store

        once: Any = {"max_retries": 0}
        config: Any = self.options()
        return S3Store(name, config=config, client_options={"allow_http": True}, retry_config=once)

    def _process(self) -> psutil.Process | None:
        return running(self._pid_file, self.folder)

    def _end(self, how: signal.Signals) -> None:
        found = self._process()
        if found is not None:
            end(found, how, self.title, self._log)


def _program() -> Path:
    if not PROGRAM.is_file():
        raise SetupError(
            f"SeaweedFS's program weed is not in {PROGRAM.parent}; `.ci/seaweedfs.sh` in a clone of this project brings it."
        )
    return PROGRAM


def _write(path: Path, content: object) -> None:
    """For its owner alone."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
