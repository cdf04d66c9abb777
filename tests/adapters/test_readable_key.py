"""Keys in messages, out of the canonical text by which both sides are compared."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.databases.measure import readable_key
from incremental_assets.core.model.column import Column, Fidelity


def columns(*kinds: str) -> tuple[Column, ...]:
    return tuple(Column(f"c{place}", "?", kind, Fidelity.EXACT) for place, kind in enumerate(kinds))


@pytest.mark.parametrize(
    ("kinds", "text", "shown"),
    [
        (("timestamp",), "1704103200123456", "2024-01-01T10:00:00.123456Z"),
        (("timestamp_ntz",), "-1000000", "1969-12-31T23:59:59"),
        (("date", "int"), "19723,7", "2024-01-01, 7"),
        (("string", "bigint"), "5:a,b~c,12", "a,b~c, 12"),
        (("string", "string"), "~,1:~", "NULL, ~"),
        (("string",), "as it is, 5:x", "as it is, 5:x"),
        (("double", "boolean"), "0x1.8p1,true", "3.0, true"),
        (("timestamp", "decimal(5,2)"), "9223372036854775807,1.50", "9223372036854775807, 1.50"),
    ],
)
def test_a_key_is_shown_as_people_write_it(kinds: tuple[str, ...], text: str, shown: str) -> None:
    assert readable_key(columns(*kinds), text) == shown
