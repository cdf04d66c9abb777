"""Another user of this machine, who tries what a process listens on: with garbage, a frame that breaks off, and Spark's own messages."""

from __future__ import annotations

import json
import os
import socket
import struct
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

_T = TypeVar("_T")

STRANGER = 64_999
"""No account has this number, and no process of ours runs as it."""
_EXECUTOR, _VERIFIER = "LocalSchedulerBackendEndpoint", "endpoint-verifier"
"""What Spark calls the one that hands tasks to the executor of a local master, and the one that knows who else is there."""
_PATIENCE = 2.0
_QUESTION, _ANSWER = b"\x03", b"\x04"
_HTTP = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_GATEWAY = b"r\nu\njava.lang.System\ne\n"


@dataclass(frozen=True, slots=True)
class Messages:
    """Two objects of Spark's as Java writes them: the one that ends the executor, and a question that anything in Spark answers."""

    stop_executor: bytes
    are_you_there: bytes

    @classmethod
    def of(cls, jvm: Any) -> Messages:
        """Written by a JVM with Spark's classes, as their identities change with each release."""
        spark = jvm.org.apache.spark
        question = getattr(spark.rpc.netty, "RpcEndpointVerifier$CheckExistence")
        # Spark sends the companion object of the class and not one of its instances.
        stop = getattr(spark.scheduler.local, "StopExecutor$")
        return cls(_written(jvm, getattr(stop, "MODULE$")), _written(jvm, question(_EXECUTOR)))

    @classmethod
    def of_a_jvm(cls) -> Messages:
        """By a JVM that is started for them, and ended."""
        from pyspark.java_gateway import launch_gateway

        gateway: Any = launch_gateway()
        try:
            return cls.of(gateway.jvm)
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait()


def as_stranger(action: Callable[[], _T], user: int = STRANGER) -> _T:
    """What the action returns in a process that belongs to another user; only root can ask for it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            with os.fdopen(writing, "w") as told:
                json.dump(action(), told)
        except BaseException:  # noqa: BLE001 - of a process that must not go on as the test
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    found: _T = json.loads(text)
    return found


def ports(pid: int) -> tuple[int, ...]:
    """What a process and its children listen on."""
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return tuple(sorted({port for process in family for port in _listening(process)}))


def _listening(process: psutil.Process) -> set[int]:
    try:
        return {each.laddr.port for each in process.net_connections("tcp") if each.status == "LISTEN"}
    except psutil.NoSuchProcess:
        return set()


def attack(found: tuple[int, ...], messages: Messages) -> dict[int, str]:
    """Everything against each port, as another user; which of them did as they were asked, and how."""
    tried = as_stranger(lambda: [(port, _try(port, messages)) for port in found])
    return {port: told for port, told in tried if told}


def readable(*roots: Path) -> list[str]:
    """What another user can list or read in these folders, without those that lead there."""

    def look() -> list[str]:
        return [path for root in roots for path in _open_to_us(str(root))]

    return as_stranger(look)


def _open_to_us(path: str) -> Iterator[str]:
    if os.path.islink(path):  # noqa: PTH114 - strings travel back
        return
    if os.path.isdir(path):  # noqa: PTH112
        try:
            entries = os.listdir(path)  # noqa: PTH208
        except OSError:
            return
        yield path
        for entry in entries:
            yield from _open_to_us(f"{path}/{entry}")
    elif os.access(path, os.R_OK):
        yield path


def _try(port: int, messages: Messages) -> str:
    """How this port did as it was asked; empty if it did not."""
    _say(port, os.urandom(4096))
    question = _frame(port, _VERIFIER, messages.are_you_there)
    _say(port, question[: len(question) // 2])
    found = []
    if _did(_say(port, question)):
        found.append("answers a question of Spark's")
    if _did(_say(port, _frame(port, _EXECUTOR, messages.stop_executor))):
        found.append("ends its executor")
    if b" 200 " in _say(port, _HTTP)[:20]:
        found.append("shows a page")
    if _say(port, _GATEWAY).startswith(b"!y"):
        found.append("runs Java")
    return ", ".join(found)


def _did(answer: bytes) -> bool:
    """The length of a frame, then its kind. A refusal comes as an answer, too, that holds an error."""
    return answer[8:9] == _ANSWER and b"RpcFailure" not in answer


def _say(port: int, message: bytes) -> bytes:
    """What comes back; nothing where the other side closes or is silent."""
    try:
        with socket.socket() as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(("127.0.0.1", port))
            connection.sendall(message)
            return connection.recv(65536)
    except OSError:
        return b""


def _frame(port: int, endpoint: str, content: bytes) -> bytes:
    """A question to an endpoint as Spark's transport frames it: from nobody, to the address and the name of the receiver."""
    host = b"127.0.0.1"
    receiver = b"\x01" + _text(host) + struct.pack(">i", port) + _text(endpoint.encode())
    body = b"\x00" + receiver + content
    head = _QUESTION + struct.pack(">qi", 1, len(body))
    return struct.pack(">q", 8 + len(head) + len(body)) + head + body


def _text(value: bytes) -> bytes:
    return struct.pack(">H", len(value)) + value


def _written(jvm: Any, value: Any) -> bytes:
    buffer = jvm.java.io.ByteArrayOutputStream()
    stream = jvm.java.io.ObjectOutputStream(buffer)
    stream.writeObject(value)
    stream.flush()
    return bytes(buffer.toByteArray())
