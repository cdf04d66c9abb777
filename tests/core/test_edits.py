"""Values that `doctor --fix` writes into a configuration: only they are another, wherever and however its entry is written."""

from __future__ import annotations

import pytest

from incremental_assets.core.config.edits import Edit, edited
from incremental_assets.core.config.yaml_places import NotWritten
from incremental_assets.core.config.yaml_source import read
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")
ZONE = Edit(ORDERS, ("cursor", "zone"), "Europe/Paris")
STAMPED = Edit(ORDERS, ("cursor", "stamped"), {"by": "application", "within": "45s"})
WITHIN = Edit(ORDERS, ("cursor", "stamped", "within"), "2m")
TYPE = Edit(ORDERS, ("cursor", "type"), "datetime")
LOOKBACK = Edit(ORDERS, ("lookback",), "1m")

FLOW = """\
# ours
sources:
  shop:
    dialect: postgresql   # the shop
    tables:
      # the orders
      - table: public.orders   # of all tenants
        cursor: {column: at, type: timestamp}   # by a trigger
        strategy: upsert   # the last key
      # the next one
      - table: public.events
        cursor: {column: at, type: timestamp}
"""
BLOCK = """\
sources:
  shop:
    tables:
    - table: '"public"."orders"'
      cursor:
        column: at
        type: timestamp   # hm
        stamped:
          by: application
          within: 5s

    - public.events:at:timestamp
"""


def changed(before: str, after: str) -> list[str]:
    """Lines that only the text has now, and with `-` those that are gone."""
    old, new = before.splitlines(), after.splitlines()
    return [*(f"-{line}" for line in old if line not in new), *(line for line in new if line not in old)]


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        (ZONE, ["        cursor: {column: at, type: timestamp, zone: Europe/Paris}   # by a trigger"]),
        (STAMPED, ["        cursor: {column: at, type: timestamp, stamped: {by: application, within: 45s}}   # by a trigger"]),
        (TYPE, ["        cursor: {column: at, type: datetime}   # by a trigger"]),
        (LOOKBACK, ["        lookback: 1m"]),
    ],
)  # fmt: skip
def test_a_value_comes_into_its_entry_and_every_comment_stays(edit: Edit, lines: list[str]) -> None:
    after = edited(FLOW, edit)
    assert [line for line in changed(FLOW, after) if not line.startswith("-")] == lines
    assert after.count("#") == FLOW.count("#")
    assert after.index("# the next one") < after.index("public.events")
    if edit is LOOKBACK:
        assert "        strategy: upsert   # the last key\n        lookback: 1m\n      # the next one\n" in after


def test_an_entry_in_blocks_gets_a_line_and_a_value_that_is_there_is_replaced() -> None:
    assert changed(BLOCK, edited(BLOCK, ZONE)) == ["        zone: Europe/Paris"]
    assert "          within: 5s\n        zone: Europe/Paris\n\n    - public.events" in edited(BLOCK, ZONE)
    assert changed(BLOCK, edited(BLOCK, WITHIN)) == ["-          within: 5s", "          within: 2m"]
    assert changed(BLOCK, edited(BLOCK, LOOKBACK)) == ["      lookback: 1m"]


def test_an_entry_in_one_line_becomes_one_with_keys_that_means_the_same() -> None:
    text = 'sources:\n  shop:\n    tables:\n      - "public.orders:at:datetime@2024-01-01!upsert"   # ours\n      - public.events:at:timestamp\n'
    after = edited(text, ZONE)
    data = read(after, "")[0].data
    assert isinstance(data, dict)
    assert data["sources"]["shop"]["tables"] == [  # type: ignore[index, call-overload]
        {"table": "public.orders", "cursor": {"column": "at", "type": "datetime", "zone": "Europe/Paris"}, "strategy": "upsert", "start": "2024-01-01T00:00:00"},
        "public.events:at:timestamp",
    ]  # fmt: skip
    assert "- table: public.orders   # ours\n        cursor: " in after


def test_a_value_of_any_depth_comes_into_an_entry_in_one_line() -> None:
    text = "sources:\n  shop:\n    tables:\n    - public.orders:at:datetime\n"
    assert "      cursor: {column: at, type: datetime, stamped: {within: 2m}}\n" in edited(text, WITHIN)


def test_a_file_whose_last_line_has_no_end_and_an_entry_in_braces_are_edited_too() -> None:
    text = "sources:\n  shop:\n    tables: [{table: public.orders, cursor: {column: at, type: timestamp}}, {table: public.events}]"
    assert edited(text, LOOKBACK) == text.replace("timestamp}}", "timestamp}, lookback: 1m}")
    last = "sources:\n  shop:\n    tables:\n    - table: public.orders\n      where: >\n        a = 1\n"
    assert edited(last, LOOKBACK) == last + "      lookback: 1m\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sources: {shop: {tables: [{match: 'public.*'}]}}", "no entry of the file is this table's alone"),
        ("sources: {shop: {dialect: postgresql}}", "lists no tables"),
        ("sources: {shop: {tables: [public.orders:at:timestamp]}}", "shares a line"),
        ("sources:\n  shop:\n    tables:\n    - table: public.orders\n      cursor: &c {column: at, type: timestamp}\n    - {table: public.b, cursor: *c}\n", "anchor"),
        ("sources:\n  shop:\n    tables:\n    - &o public.orders:at:timestamp\n    owners: [*o]\n", "anchor"),
        ("sources:\n  shop:\n    tables:\n    - >-\n      public.orders:at:timestamp\n    - public.b:at:timestamp\n", "not known"),
        ("sources: [", "no YAML"),
    ],
)  # fmt: skip
def test_what_is_not_the_tables_alone_is_left_to_a_person(text: str, why: str) -> None:
    with pytest.raises(NotWritten, match=why):
        edited(text, ZONE)


def test_a_value_is_told_as_it_is_written() -> None:
    assert (ZONE.told, LOOKBACK.told) == ("cursor: {zone: Europe/Paris}", "lookback: 1m")
    assert STAMPED.told == "cursor: {stamped: {by: application, within: 45s}}"
