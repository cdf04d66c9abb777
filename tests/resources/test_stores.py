"""The store of a lake is reached as the configuration says, and a secret is read when it is opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from incremental_assets.adapters.lake_store.opened import options_of, store_of
from incremental_assets.cli.commands.doctor import of_lake
from incremental_assets.cli.findings.finding import Health
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.resources.runtime import Runtime
from tests.adapters.lake_store.bucket import Relay, new_bucket, relaying, serving

FILE = """\
lake: {root}/lake
checkpoints: sqlite:///checkpoints.db
stores:
  {bucket}: {{endpoint: "http://{server}", region: us-east-1, access_key_id: {{env: LAKE_KEY}}, secret_access_key: {{env: LAKE_SECRET}}}}
sources:
  shop: {{dialect: postgresql, host: localhost, database: shop, user: reader}}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def relay(server: str) -> Iterator[Relay]:
    with relaying(server) as between:
        yield between


def lake(folder: Path, relay: Relay) -> str:
    """That of a configuration that was opened."""
    root = new_bucket(relay.server).replace("s3://", "s3a://")
    file = folder / "sources.yaml"
    file.write_text(FILE.format(root=root, bucket=root.removeprefix("s3a://"), server=relay.address), encoding="utf-8")
    return Runtime(load(file)).configuration.lake


def test_an_endpoint_is_read_where_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "endpoint").write_text("https://s3.example.com\n", encoding="utf-8")
    text = FILE.format(root="s3a://kept", bucket="kept", server="")
    file = tmp_path / "sources.yaml"
    file.write_text(text.replace('endpoint: "http://"', "endpoint: {file: endpoint}").replace("LAKE_", "HOME_OF_"))
    for name in ("KEY", "SECRET"):
        file.write_text(file.read_text().replace(f"{{env: HOME_OF_{name}}}", "{file: endpoint}"))
    place = Runtime(load(file)).configuration.lake
    assert options_of(place)["aws_endpoint"] == "https://s3.example.com"


def test_a_bucket_is_reached_with_what_its_references_lead_to(
    tmp_path: Path, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = lake(tmp_path, relay)
    with pytest.raises(ConfigurationError, match=r"sources.yaml:4: .*LAKE_KEY is not set"):
        store_of(place)
    monkeypatch.setenv("LAKE_KEY", "a key")
    monkeypatch.setenv("LAKE_SECRET", "a secret")
    store = store_of(f"{place}/shop")
    assert store is not None
    assert store.put_if_absent(f"{place}/a.json", b"text")
    assert dict(options_of(place)) == {
        "aws_endpoint": f"http://{relay.address}",
        "aws_region": "us-east-1",
        "aws_access_key_id": "a key",
        "aws_secret_access_key": "a secret",
    }


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", "a key")
    monkeypatch.setenv("LAKE_SECRET", "a secret")


@pytest.mark.usefixtures("keys")
def test_doctor_says_what_a_store_can_do_and_what_not_and_leaves_nothing(tmp_path: Path, relay: Relay) -> None:
    place = lake(tmp_path, relay)
    found = {each.topic: each for each in of_lake(place)}
    assert {topic: each.health for topic, each in found.items()} == {"place": Health.OK, "locks": Health.WARN}
    assert "takes a file only where there is none" in found["place"].detail
    store = store_of(place)
    assert store is not None
    assert store.list_from(place) == {}


@pytest.mark.usefixtures("keys")
def test_doctor_refuses_a_store_that_does_not_mind_conditions(tmp_path: Path, relay: Relay) -> None:
    relay.faults["PUT"] = ["unconditional"]
    (found,) = of_lake(lake(tmp_path, relay))
    assert (found.topic, found.health) == ("place", Health.FAIL)
    assert "this store does not mind the condition" in found.detail


@pytest.mark.usefixtures("keys")
def test_doctor_refuses_a_store_that_denies_this_user(tmp_path: Path, relay: Relay) -> None:
    relay.faults = {"PUT": ["403"], "POST": ["403"] * 9}
    (found,) = of_lake(lake(tmp_path, relay))
    assert (found.health, "the store denies it" in found.detail) == (Health.FAIL, True)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(("method", "within"), [("GET", "list-type"), ("GET", ".trial/file")])
def test_doctor_refuses_a_store_that_denies_one_of_the_things_that_a_sync_does(
    tmp_path: Path, relay: Relay, method: str, within: str
) -> None:
    place = lake(tmp_path, relay)
    assert [each.health for each in of_lake(place)] == [Health.OK, Health.WARN]
    relay.within, relay.faults = within, {method: ["403 AccessDenied"] * 9}
    (found,) = of_lake(place)
    assert (found.health, "the store denies it" in found.detail) == (Health.FAIL, True)


@pytest.mark.usefixtures("keys")
def test_doctor_finds_a_role_that_may_write_and_remove_nothing(tmp_path: Path, relay: Relay) -> None:
    relay.keeps = True
    found = {each.topic: each for each in of_lake(lake(tmp_path, relay))}
    assert {topic: each.health for topic, each in found.items()} == {
        "place": Health.OK,
        "removal": Health.WARN,
        "locks": Health.WARN,
    }
    assert "syncs land and leave behind what they staged" in found["removal"].detail
    assert "`s3:DeleteObject`" in found["removal"].cure


@pytest.mark.usefixtures("keys")
def test_a_lake_may_be_a_whole_bucket(tmp_path: Path, relay: Relay) -> None:
    root = lake(tmp_path, relay).removesuffix("/lake")
    assert {each.health for each in of_lake(root)} == {Health.OK, Health.WARN}
    store = store_of(root)
    assert store is not None
    store.put(f"{root}/shop/a.json", b"text")
    assert dict(store.list_from(root)) == {"shop": ""}
    assert [name for name, _ in store.files_in(root)] == ["shop/a.json"]


@pytest.mark.usefixtures("keys")
def test_doctor_says_what_a_bucket_costs_that_keeps_versions(tmp_path: Path, relay: Relay) -> None:
    place = lake(tmp_path, relay)
    server: Any = boto3.client(
        "s3",
        endpoint_url=f"http://{relay.server}",
        region_name="us-east-1",
        aws_access_key_id="a key",
        aws_secret_access_key="a secret",
    )
    server.put_bucket_versioning(Bucket=place.split("/")[2], VersioningConfiguration={"Status": "Enabled"})
    found = {each.topic: each for each in of_lake(place)}
    assert {topic: each.health for topic, each in found.items()} == {
        "place": Health.OK,
        "versions": Health.WARN,
        "locks": Health.WARN,
    }
    assert "nothing that is removed is gone" in found["versions"].detail
    assert "`NoncurrentVersionExpiration`" in found["versions"].cure


def test_of_what_only_spark_can_reach_nothing_is_tried() -> None:
    (found,) = of_lake("hdfs://name/lake")
    assert (found.health, found.detail) == (
        Health.OK,
        "hdfs://name/lake, which only Spark can reach: the first sync will show",
    )


def test_a_process_that_lives_on_reaches_the_bucket_by_a_key_that_was_rotated(tmp_path: Path, relay: Relay) -> None:
    (tmp_path / "secret").write_text("first\n", encoding="utf-8")
    root = new_bucket(relay.server).replace("s3://", "s3a://")
    text = FILE.format(root=root, bucket=root.removeprefix("s3a://"), server=relay.address)
    file = tmp_path / "sources.yaml"
    file.write_text(text.replace("{env: LAKE_KEY}", "{file: secret}").replace("{env: LAKE_SECRET}", "{file: secret}"))
    runtime = Runtime(load(file))
    lake = runtime.configuration.lake
    before = store_of(lake)
    runtime.probe("shop")
    assert store_of(lake) is before
    (tmp_path / "secret").write_text("second\n", encoding="utf-8")
    runtime.probe("shop")
    assert options_of(lake)["aws_secret_access_key"] == "second"
    assert store_of(lake) is not before
    after = store_of(lake)
    (tmp_path / "secret").unlink()
    runtime.probe("shop")
    assert store_of(lake) is after
    runtime.close()


def test_the_session_token_of_the_environment_goes_with_the_key_of_the_environment(
    tmp_path: Path, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("LAKE_KEY", "temporary"), ("LAKE_SECRET", "a secret"), ("AWS_SESSION_TOKEN", "of temporary")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    assert "aws_session_token" not in options_of(lake(tmp_path, relay))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "temporary")
    assert options_of(lake(tmp_path, relay))["aws_session_token"] == "of temporary"
