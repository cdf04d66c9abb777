"""The JSON Schema that editors use agrees with the file as shipped, with every key of the contract, and with what `load` refuses."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

import incremental_assets.core
from incremental_assets.core.config.database_settings import Tls, database_of
from incremental_assets.core.config.json_schema import schema
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Reference
from incremental_assets.core.model.table import Strategy
from tests.core.test_config import SMALLEST, WHOLE

SHIPPED = Path(incremental_assets.core.__file__).parent.parent / "sources.yaml"
SCHEMA = schema()
VALIDATOR = Draft202012Validator(SCHEMA)
DEFINITIONS = {"$defs": SCHEMA["$defs"]}


class EditorLoader(yaml.SafeLoader):
    """YAML as editors read it for a schema: numbers are numbers, a day is text, and so is `yes`."""


EditorLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":bool"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
EditorLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


def is_valid(text: str) -> bool:
    return bool(VALIDATOR.is_valid(yaml.load(text, EditorLoader)))


def test_the_file_as_shipped_loads_without_any_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "INCREMENTAL_ASSETS_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    tpch = load(SHIPPED).source("tpch")
    assert isinstance(database_of(tpch).password, Reference)
    assert database_of(tpch).tls is Tls.DISABLE
    assert sorted(table.name for table in tpch.tables) == [
        "customer",
        "lineitem",
        "orders",
        "part",
        "partsupp",
        "supplier",
    ]
    assert {table.strategy for table in tpch.tables} == {Strategy.UPSERT}
    assert tpch.unlisted == "full_refresh"


def test_the_schema_accepts_the_file_as_shipped_and_every_key_of_the_contract() -> None:
    assert is_valid(SHIPPED.read_text(encoding="utf-8"))
    assert is_valid(SMALLEST)
    assert is_valid(WHOLE)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("lake: ", "lak: "),
        ("dialect: postgresql", "dialect: postgres"),
        ("password: {file: secrets/shop}", "password: hunter2"),
        ("password: {file: secrets/shop}", "password: {fil: secrets/shop}"),
        ("port: 6432", "port: 70000"),
        ("connect_timeout: 5s", "connect_timeout: 5"),
        ("connect_timeout: 5s", "ssl: 5s"),
        ("unlisted: ignore", "unlisted: skip"),
        ("orders:updated_at:timestamp!upsert", "orders:updated_at:timestmp!upsert"),
        ("orders:updated_at:timestamp!upsert", "orders:updated_at"),
        ("type: datetime", "type: date time"),
        ("history: none", "history: scd3"),
        ("deletes: {mode: diff, every: 6h", "deletes: {mode: difference, every: 6h"),
        ("max_fraction: 0.1", "max_fraction: 1.1"),
        ("columns: {exclude: [secret]}", "columns: {without: [secret]}"),
        ("schema_changes: freeze", "schema_changes: ignore"),
        ("every: week", "every: weak"),
        ("lookback: 15m", "lookback: 15x"),
        ("size: 50000", "size: 0"),
        ("owners: [ann@example.com]", "owners: ann@example.com"),
        ("  shop:", "  shop-eu:"),
        ("user: {env: SHOP_USER}", "fetch_size: 10"),
    ],
)
def test_the_schema_refuses_what_load_refuses(right: str, wrong: str) -> None:
    assert right in WHOLE
    assert not is_valid(WHOLE.replace(right, wrong, 1))


def test_the_schema_knows_no_null_and_is_plain_json() -> None:
    text = json.dumps(SCHEMA)
    assert '"null"' not in text
    assert "Document'" not in text


def test_every_mapping_is_closed_and_explained() -> None:
    for name, definition in SCHEMA["$defs"].items():
        assert definition.get("description"), name
        if definition["type"] == "object":
            assert definition["additionalProperties"] is False, name


def defaults(node: Any) -> list[dict[str, Any]]:
    """Every key of the schema that has a default."""
    if isinstance(node, list):
        return [each for item in node for each in defaults(item)]
    if not isinstance(node, dict):
        return []
    return ([node] if "default" in node else []) + [each for value in node.values() for each in defaults(value)]


def test_every_default_is_what_the_key_may_hold() -> None:
    found = defaults(SCHEMA)
    assert {"15m", "03:00"} <= {each["default"] for each in found if isinstance(each["default"], str)}
    assert [each for each in found if not VALIDATOR.evolve(schema=each | DEFINITIONS).is_valid(each["default"])] == []
