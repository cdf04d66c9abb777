"""What AWS Glue knows of a copy: enough for those who read Delta by it, no more than what is true, and nothing of anybody else's is written over."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from incremental_assets.adapters.registering import glue as module
from incremental_assets.adapters.registering.glue import Glue
from incremental_assets.core.errors import CatalogueUnreachable, RegistrationRefused
from incremental_assets.core.model.registration import Catalogue, Described, DescribedColumn, Place
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")
COPY = Described(
    "s3a://bucket/lake/shop/public/orders",
    (DescribedColumn("Id", "bigint", "the number\nof the order"), DescribedColumn("note", "string")),
    "What people ordered",
)


@pytest.fixture
def glue() -> Glue:
    return Glue(dict)


@pytest.fixture
def place(database: str) -> Place:
    return Place(Catalogue.GLUE, database, "public_orders")


def table(client: Any, place: Place) -> dict[str, Any]:
    found: dict[str, Any] = client.get_table(DatabaseName=place.database, Name=place.table)["Table"]
    return found


def versions(client: Any, place: Place) -> int:
    return len(client.get_table_versions(DatabaseName=place.database, TableName=place.table)["TableVersions"])


def test_a_table_is_made_as_readers_of_delta_expect_it(glue: Glue, glue_client: Any, place: Place) -> None:
    glue.put(place, ORDERS, COPY)
    found = table(glue_client, place)
    described = found["StorageDescriptor"]
    assert (found["TableType"], found["Description"]) == ("EXTERNAL_TABLE", "What people ordered")
    # Athena and Redshift go by the first, Spark and Trino by the second.
    assert (found["Parameters"]["table_type"], found["Parameters"]["spark.sql.sources.provider"]) == ("delta", "delta")
    assert described["Location"] == "s3://bucket/lake/shop/public/orders"
    assert described["SerdeInfo"]["Parameters"]["path"] == "s3://bucket/lake/shop/public/orders"
    assert described["Columns"] == [
        {"Name": "id", "Type": "bigint", "Comment": "the number of the order"},
        {"Name": "note", "Type": "string"},
    ]


def test_what_is_known_already_is_not_written_again(glue: Glue, glue_client: Any, place: Place) -> None:
    for _ in range(3):
        glue.put(place, ORDERS, COPY)
    assert versions(glue_client, place) == 1


def test_columns_that_have_come_are_written_and_what_others_have_added_stays(
    glue: Glue, glue_client: Any, place: Place
) -> None:
    glue.put(place, ORDERS, replace(COPY, comment=""))
    there = table(glue_client, place)
    there["StorageDescriptor"]["Columns"][1]["Comment"] = "written by a person"
    kept = {name: there[name] for name in ("Name", "TableType", "StorageDescriptor")}
    parameters = {**there["Parameters"], "team": "sales"}
    by_hand = {**kept, "Parameters": parameters, "Owner": "ann", "Description": "by a person"}
    glue_client.update_table(DatabaseName=place.database, TableInput=by_hand)

    glue.put(place, ORDERS, replace(COPY, columns=(*COPY.columns, DescribedColumn("qty", "int")), comment=""))
    now = table(glue_client, place)
    assert [(each["Name"], each.get("Comment")) for each in now["StorageDescriptor"]["Columns"]] == [
        ("id", "the number of the order"),
        ("note", "written by a person"),
        ("qty", None),
    ]
    assert (now["Owner"], now["Description"], now["Parameters"]["team"]) == ("ann", "by a person", "sales")


OTHERS = [
    ({}, "s3://bucket/lake/shop/public/orders", "that this program has not made"),
    ({"incremental_assets.table": "mall.public.orders"}, "s3://bucket/x", "which is the copy of mall.public.orders"),
    (
        {"incremental_assets.table": "shop.public.orders"},
        "s3://old/lake",
        "which lies in s3://old/lake and not in s3://b",
    ),
]


@pytest.mark.parametrize(("parameters", "location", "what"), OTHERS)
def test_a_table_of_somebody_else_or_elsewhere_is_refused_by_name_and_left_as_it_is(
    glue: Glue, glue_client: Any, place: Place, parameters: dict[str, str], location: str, what: str
) -> None:
    theirs = {"Name": place.table, "Parameters": parameters, "StorageDescriptor": {"Location": location}}
    glue_client.create_table(DatabaseName=place.database, TableInput=theirs)
    before = table(glue_client, place)
    with pytest.raises(RegistrationRefused) as refused:
        glue.put(place, ORDERS, COPY)
    assert what in str(refused.value)
    cure = f"`aws glue delete-table --database-name {place.database} --name public_orders`"
    assert cure in str(refused.value)
    assert table(glue_client, place) == before


def test_a_database_that_is_not_there_is_named_with_the_command_that_makes_it(glue: Glue, aws: str) -> None:
    place = Place(Catalogue.GLUE, "nowhere", "t")
    for ask in (lambda: glue.put(place, ORDERS, COPY), lambda: glue.check(place)):
        with pytest.raises(RegistrationRefused, match=r"create-database --database-input Name=nowhere`"):
            ask()


def test_a_cure_names_the_region_of_the_lakes_store(aws: str) -> None:
    glue = Glue(lambda: {"region": "eu-west-1"})
    with pytest.raises(RegistrationRefused, match=r"Name=nowhere --region eu-west-1`"):
        glue.check(Place(Catalogue.GLUE, "nowhere", "t"))
    with pytest.raises(RegistrationRefused, match=r"Name=nowhere --region us-east-1`"):
        glue.check(Place(Catalogue.GLUE, "nowhere", "t", "us-east-1"))


def test_a_table_that_another_makes_at_the_same_moment_is_read_again(
    glue: Glue, glue_client: Any, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    Glue(dict).put(place, ORDERS, COPY)
    real, seen = module._table, iter([None])
    # The first look was before the other run made it.
    monkeypatch.setattr(module, "_table", lambda *asked: next(seen, real(*asked)))
    glue.put(place, ORDERS, COPY)
    assert versions(glue_client, place) == 1


def test_a_change_that_was_made_meanwhile_is_not_written_over(
    glue: Glue, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    class Changed:
        """A table that another run brings up to date between the look and the write."""

        wider = False

        def get_table(self, **_: object) -> dict[str, Any]:
            columns = (*COPY.columns, DescribedColumn("n", "int")) if self.wider else COPY.columns
            made = module.table_input(place, ORDERS, replace(COPY, columns=columns))
            return {"Table": {**made, "VersionId": "2" if self.wider else "1"}}

        def update_table(self, **given: Any) -> None:
            asked.append(given)
            self.wider = True
            raise ClientError({"Error": {"Code": "ConcurrentModificationException"}}, "UpdateTable")

    changed = Changed()
    monkeypatch.setattr(glue, "_client", lambda _: changed)
    glue.put(place, ORDERS, replace(COPY, columns=(*COPY.columns, DescribedColumn("n", "int"))))
    assert [each["VersionId"] for each in asked] == ["1"]


SAID = [
    ("AccessDeniedException", 400, CatalogueUnreachable, "they need glue:GetDatabase"),
    ("ExpiredTokenException", 400, CatalogueUnreachable, "AWS rejects these credentials (s3cret words)"),
    ("InternalServiceException", 500, CatalogueUnreachable, "it answers with InternalServiceException (s3cret words)"),
    ("ThrottlingException", 400, CatalogueUnreachable, "it answers with ThrottlingException"),
    ("InvalidInputException", 400, RegistrationRefused, "AWS refuses it with InvalidInputException (s3cret words)"),
]


@pytest.mark.parametrize(("code", "status", "kind", "words"), SAID)
def test_what_aws_says_is_one_sentence_with_the_cure(
    place: Place, code: str, status: int, kind: type[Exception], words: str
) -> None:
    answer = {
        "Error": {"Code": code, "Message": "s3cret words\nand a second line"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    with pytest.raises(kind) as told, module.explained(place):
        raise ClientError(answer, "GetTable")  # type: ignore[arg-type]
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_an_endpoint_that_does_not_answer_is_told_within_seconds(
    glue: Glue, aws: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        with pytest.raises(CatalogueUnreachable, match=r"it did not answer .*; check network, region and proxy"):
            glue.put(Place(Catalogue.GLUE, "lake", "t"), ORDERS, COPY)


def test_one_that_takes_the_question_and_says_nothing_is_left(
    glue: Glue, aws: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", {**module._PATIENCE, "read_timeout": 0.2})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(CatalogueUnreachable, match=r"it did not answer .Read timeout"):
            glue.check(Place(Catalogue.GLUE, "lake", "t"))


def test_without_a_region_or_keys_the_sentence_says_what_to_write(
    glue: Glue, aws: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    place = Place(Catalogue.GLUE, "lake", "t")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(RegistrationRefused, match=r"write `register: {glue: {region: …}}`, or set AWS_DEFAULT_REGION"):
        glue.put(place, ORDERS, COPY)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(CatalogueUnreachable, match="no credentials of AWS were found"):
        glue.put(replace(place, region="eu-central-1"), ORDERS, COPY)


def test_keys_that_are_rotated_are_used_from_then_on(place: Place, aws: str) -> None:
    given = {"access_key_id": "one", "secret_access_key": "s3cret"}
    glue = Glue(lambda: given)
    first = glue._client(place)
    assert glue._client(place) is first
    given["access_key_id"] = "two"
    assert glue._client(place)._request_signer._credentials.access_key == "two"
