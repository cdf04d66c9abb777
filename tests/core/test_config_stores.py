"""`stores`: how the bucket of the lake is reached, with secrets by reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.files_settings import FilesSettings
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Configuration, Reference, StoreConfig
from tests.core.mistakes import NOW, only_problem, problems

FILE = """\
lake: s3a://bucket/lake
checkpoints: postgresql://sync@db.example.com/checkpoints
stores:
  bucket: {endpoint: "https://s3.example.com:9000/", region: eu-west-1, access_key_id: {env: LAKE_KEY}, secret_access_key: {file: ./secret}}
sources:
  shop: {dialect: postgresql, host: localhost, database: shop, user: reader}
"""


def loaded(folder: Path, text: str) -> Configuration:
    file = folder / "sources.yaml"
    file.write_text(text, encoding="utf-8")
    return load(file, now=NOW)


def test_the_bucket_of_the_lake_has_what_stores_say_of_it(tmp_path: Path) -> None:
    assert loaded(tmp_path, FILE).store == StoreConfig(
        "bucket",
        "https://s3.example.com:9000",
        "eu-west-1",
        Reference("env", "LAKE_KEY"),
        Reference("file", str(tmp_path / "secret")),
        line=4,
    )


def test_an_endpoint_may_be_in_a_file(tmp_path: Path) -> None:
    store = loaded(tmp_path, FILE.replace('"https://s3.example.com:9000/"', "{file: ./endpoint}")).store
    assert store is not None
    assert store.endpoint == Reference("file", str(tmp_path / "endpoint"))


def test_without_stores_the_environment_says_everything(tmp_path: Path) -> None:
    without = "".join(line for line in FILE.splitlines(keepends=True) if "bucket:" not in line and "stores" not in line)
    assert loaded(tmp_path, without).store is None


@pytest.mark.parametrize(
    ("right", "wrong", "cure"),
    [
        ("  bucket: {", "  basket: {", "no address of this file is in this bucket"),
        ("access_key_id: {env: LAKE_KEY}, ", "", "write both `access_key_id` and `secret_access_key`, or neither"),
        (
            "access_key_id: {env: LAKE_KEY}, secret_access_key: {file: ./secret}",
            "session_token: {env: LAKE_TOKEN}",
            "a session token belongs to a key",
        ),
        ("https://s3.example.com:9000/", "https://s3.example.com/bucket", "the bucket is in the address of the lake"),
        (
            "https://s3.example.com:9000/",
            "https://key:s3cret@s3.example.com",
            "write https://host or https://host:port",
        ),
        ("region:", "regoin:", "did you mean `region`"),
    ],
)
def test_a_mistake_is_named_at_its_line(tmp_path: Path, right: str, wrong: str, cure: str) -> None:
    text = "\n".join(f"{line} #!" if "endpoint" in line else line for line in FILE.splitlines())
    assert cure in only_problem(tmp_path, text.replace(right, wrong)).cure


def test_a_secret_is_always_a_reference_and_never_shown(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, FILE.replace("{file: ./secret}", "s3cret"))
    assert "s3cret" not in str(found)
    assert found.line == 4


def test_a_program_may_print_a_secret(tmp_path: Path) -> None:
    read = loaded(tmp_path, FILE.replace("{file: ./secret}", "{command: [vault, read]}"))
    assert read.store is not None
    assert read.store.secret_access_key == Reference("command", "vault", ("read",))


def test_keys_that_are_temporary_have_a_token_which_is_a_secret_too(tmp_path: Path) -> None:
    read = loaded(tmp_path, FILE.replace("{file: ./secret}", "{file: ./secret}, session_token: {env: LAKE_TOKEN}"))
    assert read.store is not None
    assert read.store.session_token == Reference("env", "LAKE_TOKEN")
    assert "LAKE_TOKEN" in read.secrets


def test_a_lake_on_a_disk_has_no_bucket(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, FILE.replace("s3a://bucket/lake", "./lake"))
    assert found.cure.startswith("no address of this file is in this bucket")


def test_s3_is_one_store_by_either_of_its_names(tmp_path: Path) -> None:
    read = loaded(tmp_path, FILE.replace("s3a://", "s3://"))
    assert read.lake == "s3a://bucket/lake"
    assert read.store == loaded(tmp_path, FILE).store


@pytest.mark.parametrize(
    ("address", "cure"),
    [
        (
            "s3://bucket:9000/lake",
            "write the name of the bucket alone; its server is `stores: {bucket: {endpoint: https://…}}`",
        ),
        ("gs://bucket:9000/lake", "write the name of the bucket alone"),
        ("s3://[::1]:9000/lake", "write the name of the bucket alone"),
        ("s3://key@bucket/lake", "`stores` has its keys, as references"),
        ("s3://key:s3cret@bucket/lake", "`stores` has its keys, as references"),
        ("s3://", "write the name of the bucket, as in s3://bucket/lake"),
        ("s3:///lake", "write the name of the bucket, as in s3://bucket/lake"),
        ("s3://bucket/a#b", "without `#`, `?` and `%`"),
        ("s3://bucket/a?b", "without `#`, `?` and `%`"),
        ("s3://bucket/a%2Fb", "without `#`, `?` and `%`"),
        ("s3://bucket/a\\tb", "write one line"),
        (" s3://bucket/lake", "write the address of a store as s3://bucket/lake"),
        ("s3://bucket/lake ", "no blank around it"),
        ("s3:/bucket/lake", "write the address of a store as s3://bucket/lake"),
    ],
)
def test_an_address_that_names_no_bucket_is_refused_at_its_line(tmp_path: Path, address: str, cure: str) -> None:
    text = "\n".join(line for line in FILE.splitlines() if "bucket:" not in line and "stores" not in line)
    found = only_problem(tmp_path, text.replace("lake: s3a://bucket/lake", f'lake: "{address}" #!'))
    assert cure in found.cure
    assert "s3cret" not in str(found)


@pytest.mark.parametrize(
    "address", ["s3://my.bucket_1/my lake", "abfss://c@a.dfs.core.windows.net/l", "hdfs://name:8020/l"]
)
def test_an_address_that_names_one_is_taken(tmp_path: Path, address: str) -> None:
    text = "\n".join(line for line in FILE.splitlines() if "bucket:" not in line and "stores" not in line)
    assert loaded(tmp_path, text.replace("s3a://bucket/lake", address)).lake == address.replace("s3://", "s3a://")


def test_a_folder_of_files_names_a_bucket_likewise(tmp_path: Path) -> None:
    text = DROPPED.replace("s3://incoming/shop/", "s3://incoming:9000/shop/ #!").replace("stores:\n", "")
    text = "\n".join(line for line in text.splitlines() if "incoming: {" not in line)
    assert "its server is `stores: {incoming: {endpoint: https://…}}`" in only_problem(tmp_path, text).cure


DROPPED = """\
lake: ./lake
checkpoints: sqlite:///lake/checkpoints.db
stores:
  incoming: {region: eu-west-1, access_key_id: {env: IN_KEY}, secret_access_key: {env: IN_SECRET}}
sources:
  drop:
    dialect: files
    folder: s3://incoming/shop/
    files:
      shop.orders: {path: "*.parquet", format: parquet}
    tables:
      - {table: shop.orders}
"""


def test_the_bucket_of_a_source_s_folder_has_what_stores_say_of_it(tmp_path: Path) -> None:
    found = loaded(tmp_path, DROPPED)
    (store,) = found.stores
    settings = found.source("drop").settings
    assert (store.bucket, store.region) == ("incoming", "eu-west-1")
    assert isinstance(settings, FilesSettings)
    assert settings.folder == "s3a://incoming/shop"
    assert found.store is None
    assert found.secrets == ("IN_KEY", "IN_SECRET")


def test_a_source_that_has_a_mistake_makes_no_other_one_of_its_bucket(tmp_path: Path) -> None:
    problem = only_problem(tmp_path, DROPPED.replace("format: parquet}", "format: xml}  #!"))
    assert "bucket" not in str(problem)
