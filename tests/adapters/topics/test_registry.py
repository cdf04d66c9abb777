"""A registry of schemas by its API: what it has, what it does not have, and what stops a table because it is no answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from incremental_assets.adapters.topics.avro.registry import HttpRegistry, Registry, UnknownSchema
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from tests.adapters.topics.avro import FakeRegistry
from tests.adapters.topics.registry_server import RegistryServer, registry_server

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
LINE = {"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "order", "type": "shop.Order"}]}


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry_server() as found:
        yield found


@pytest.fixture(params=["by HTTP", "in memory"])
def world(request: pytest.FixtureRequest, server: RegistryServer) -> tuple[Registry, int]:
    """A registry, and the number of the schema of orders in it."""
    if request.param == "by HTTP":
        return HttpRegistry("shop", server.url), server.register(ORDER)
    fake = FakeRegistry()
    return fake, fake.register(json.dumps(ORDER))


def test_a_schema_that_it_has_is_there_and_of_one_that_it_does_not_have_it_says_so(
    world: tuple[Registry, int],
) -> None:
    registry, number = world
    assert [json.loads(text) for text in registry.schema(number)] == [ORDER]
    with pytest.raises(UnknownSchema, match="the registry does not have it"):
        registry.schema(number + 1)


def test_a_schema_is_asked_for_once_and_one_that_was_not_there_again(server: RegistryServer) -> None:
    registry, number = HttpRegistry("shop", server.url), server.register(ORDER)
    for _ in range(2):
        registry.schema(number)
        with pytest.raises(UnknownSchema):
            registry.schema(number + 1)
    server.register(ORDER)
    registry.schema(number + 1)
    assert [each.rpartition("/")[2] for each in server.asked] == ["1", "2", "2", "2"]


def test_a_schema_comes_behind_those_that_it_refers_to_and_each_comes_once(server: RegistryServer) -> None:
    reference = {"name": "shop.Order", "subject": "orders/value", "version": 1}
    server.register_as("orders/value", ORDER)
    server.register_as("lines", LINE, references=[reference])
    number = server.register(LINE, references=[{"name": "shop.Line", "subject": "lines", "version": 1}, reference])
    assert [json.loads(text)["name"] for text in HttpRegistry("shop", server.url).schema(number)] == [
        "Order",
        "Line",
        "Line",
    ]
    lost = server.register(LINE, references=[reference | {"version": 7}])
    with pytest.raises(UnknownSchema, match=r"the registry does not have shop\.Order, to which it refers"):
        HttpRegistry("shop", server.url).schema(lost)


def test_a_schema_of_another_kind_is_named(server: RegistryServer) -> None:
    number = server.register(ORDER, schemaType="PROTOBUF")
    with pytest.raises(UnknownSchema, match="that is one of PROTOBUF, and none of Avro"):
        HttpRegistry("shop", server.url).schema(number)


@pytest.mark.parametrize(
    ("status", "text", "error", "words"),
    [
        (500, '{"error_code": 50001}', SourceUnreachable, r"cannot answer now \(500\); try again"),
        (429, "slower", SourceUnreachable, r"cannot answer now \(429\)"),
        (403, '{"error_code": 40301}', SourceRefused, r"refuses this user \(403\)"),
        (404, "<html>nothing here</html>", SourceRefused, r"is no schema registry \(404\); correct `url`"),
        (404, '{"error_code": 404, "message": "HTTP 404 Not Found"}', SourceRefused, "is no schema registry"),
        (200, "<html>welcome</html>", SourceRefused, r"is no schema registry \(200\)"),
        (200, '{"schema": 7}', SourceRefused, "is no schema registry"),
        (200, '{"schema": "\\"long\\"", "references": [1]}', SourceRefused, "is no schema registry"),
    ],
)
def test_what_is_no_answer_of_a_registry_is_never_taken_for_a_schema_that_is_missing(
    server: RegistryServer, status: int, text: str, error: type[Exception], words: str
) -> None:
    server.answer = status, text
    with pytest.raises(error, match=f"shop: .*{words}"):
        HttpRegistry("shop", server.url).schema(1)


def test_a_registry_that_is_away_is_named_and_answers_once_it_is_there() -> None:
    with registry_server() as server:
        number = server.register(ORDER)
        registry = HttpRegistry("shop", server.url)
    with pytest.raises(SourceUnreachable, match=r"shop: the schema registry at http://.* does not answer \(.*refused"):
        registry.schema(number)


def test_a_user_is_let_in_by_its_password_and_no_message_has_it(server: RegistryServer) -> None:
    server.access, number = ("reader", "s3cret"), server.register(ORDER)
    assert HttpRegistry("shop", server.url, access=("reader", "s3cret")).schema(number)
    for access in (("reader", "wr0ng"), None):
        with pytest.raises(SourceRefused, match=r"refuses this user \(401\); correct `user` and `password`") as refused:
            HttpRegistry("shop", server.url, access=access).schema(number)
        assert "wr0ng" not in str(refused.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "registry.pem", folder / "registry.key"
    named = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    written = ("-out", str(made), "-keyout", str(key))
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *named, *written]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


def test_a_certificate_is_held_against_its_authority_and_its_name(certificate: tuple[Path, Path]) -> None:
    ca = str(certificate[0])
    with registry_server(certificate) as server:
        number = server.register(ORDER)
        assert HttpRegistry("shop", server.url, ca).schema(number)
        for url, own in ((server.url, ""), (server.url.replace("localhost", "127.0.0.1"), ca)):
            with pytest.raises(SourceRefused, match=r"the certificate of the schema registry at .* is not the one"):
                HttpRegistry("shop", url, own).schema(number)
