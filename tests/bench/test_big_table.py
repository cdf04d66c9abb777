"""A large table is gone with its measurement, wherever its server kept it."""

from __future__ import annotations

import json

import pytest

from bench.big_table import big_table


@pytest.mark.postgres
def test_of_a_large_table_nothing_stays_on_the_disk() -> None:
    with big_table(
        "few", 2, ["CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1), (2)"]
    ) as made:
        # Below a folder that the server's account may not enter, root's server keeps its data elsewhere.
        kept = made.folder / "server" / json.loads((made.folder / "server" / "server.json").read_text())["home"]
        assert made.row("SELECT count(*) FROM orders") == (2,)
        assert kept.is_dir()
    assert not kept.exists()
    assert not made.folder.exists()
