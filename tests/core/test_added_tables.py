"""Tables that `init --tables` adds to a configuration file: only they are new, wherever and however the others are written."""

from __future__ import annotations

import pytest

from incremental_assets.core.config.added_tables import names, with_tables
from incremental_assets.core.config.yaml_places import NotWritten
from incremental_assets.core.model.table_id import TableId

NEW = """\
# public.items: about 3 rows
- table: public.items
  strategy: full_refresh"""

BLOCK = """\
# ours
sources:
  shop:
    dialect: postgresql   # the shop
    tables:
      # the orders
      - table: public.orders   # of all tenants
        strategy: full_refresh   # the last key
      # kept for later
    every: 30s
  store:
    tables: []   # none yet
  depot:
    database: depot.db   # a file

lake: ./lake
"""


def added(before: str, after: str) -> str:
    """The lines that are new, where the others have stayed as they were and in their order."""
    old = before.splitlines()
    new = []
    for line in after.splitlines():
        if old and line == old[0]:
            old.pop(0)
        else:
            new.append(line)
    assert old == []
    return "\n".join(new)


def test_entries_come_behind_the_last_one_as_far_in_as_it_is() -> None:
    after = with_tables(BLOCK, "shop", NEW)
    assert added(BLOCK, after) == "\n".join(f"      {line}" for line in NEW.splitlines())
    assert "        strategy: full_refresh   # the last key\n      # public.items" in after
    flat = "sources:\n  shop:\n    tables:\n    - public.orders:at:timestamp   # by a trigger"
    assert with_tables(flat, "shop", NEW) == flat + "\n" + "\n".join(f"    {line}" for line in NEW.splitlines())
    text = "sources:\n  shop:\n    tables:\n    - table: public.a\n      where: >\n        a = 1\n"
    assert added(text, with_tables(text, "shop", NEW)).startswith("    # public.items")


def test_a_source_without_tables_and_one_with_none_yet_get_their_first_ones() -> None:
    after = with_tables(BLOCK, "store", NEW)
    assert "    tables:   # none yet\n      # public.items: about 3 rows\n      - table: public.items\n" in after
    after = with_tables(BLOCK, "depot", NEW)
    assert added(BLOCK, after).splitlines()[0] == "    tables:"
    assert "    database: depot.db   # a file\n    tables:\n      # public.items" in after
    assert after.endswith("\n\nlake: ./lake\n")


def test_an_entry_is_found_however_it_is_written() -> None:
    text = 'sources:\n  shop:\n    tables:\n    - table: \'"public"."a"\'\n    - public.b:at:timestamp\n    - {match: "public.c*"}\n'
    found = {name: names(text, TableId("shop", "public", name)) for name in ("a", "b", "c1")}
    assert found == {"a": True, "b": True, "c1": False}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sources:\n  shop:\n    tables: [public.orders:at:timestamp]\n", "in brackets"),
        ("sources: {shop: {dialect: sqlite}}", "not written over lines of its own"),
        ("sources:\n  store: {dialect: sqlite}\n", "no source shop"),
        ("sources:\n  shop: &s\n    dialect: sqlite\n  store: *s\n", "anchor"),
        ("sources:\n  shop:\n    tables: &t\n    - {table: a.b}\n  store:\n    tables: *t\n", "anchor"),
        ("sources: [", "no YAML"),
    ],
)
def test_what_others_may_share_or_is_written_otherwise_is_left_to_a_person(text: str, why: str) -> None:
    with pytest.raises(NotWritten, match=why):
        with_tables(text, "shop", NEW)
