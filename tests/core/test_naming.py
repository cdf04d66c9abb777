"""Every name has a path of its own that any reader opens."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.errors import NameRefused
from incremental_assets.core.model.paths import encoded, is_local, lock_path, quarantine_path, staging_path, table_path
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("orders", "orders"),
        ("Order-lines_2.0", "Order-lines_2.0"),
        ("a b", "a~20b"),
        ("_hidden", "~5Fhidden"),
        (".hidden", "~2Ehidden"),
        ("..", "~2E."),
        ("a/b", "a~2Fb"),
        ("50%", "50~25"),
        ("~", "~7E"),
        ("ünïcode", "~C3~BCn~C3~AFcode"),
        ('we"ird; drop table x--.Tbl', "we~22ird~3B~20drop~20table~20x--.Tbl"),
    ],
)
def test_a_byte_that_some_reader_stumbles_over_is_written_in_hex(name: str, segment: str) -> None:
    assert encoded(name) == segment


@given(st.text(min_size=1, max_size=20))
def test_no_name_is_lost_in_its_path(name: str) -> None:
    segment = encoded(name)
    decoded = re.sub(rb"~([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), segment.encode())
    assert decoded.decode() == name
    assert re.fullmatch(r"[A-Za-z0-9~-][A-Za-z0-9_.~-]*", segment)


@pytest.mark.parametrize("name", ["", "ü" * 43])
def test_a_name_that_no_file_system_takes_is_refused(name: str) -> None:
    with pytest.raises(NameRefused, match="cannot be a folder"):
        encoded(name)


def test_everything_of_a_table_has_its_place_under_the_lake() -> None:
    assert table_path("/lake/", ORDERS) == "/lake/shop/public/orders"
    assert quarantine_path("s3a://bucket/lake", ORDERS) == "s3a://bucket/lake/_quarantine/shop/public/orders"
    assert staging_path("/lake", ORDERS) == "/lake/_staging/shop/public/orders"
    assert staging_path("/lake", ORDERS, "b1") == "/lake/_staging/shop/public/orders/b1"
    assert lock_path("/lake", ORDERS) == "/lake/_locks/shop/public/orders"


def test_a_source_cannot_take_the_place_of_our_own_folders() -> None:
    assert table_path("/lake", TableId("_staging", "s", "t")) == "/lake/~5Fstaging/s/t"


def test_a_lake_with_an_address_is_not_local() -> None:
    assert is_local("/lake")
    assert not is_local("s3a://bucket/lake")
