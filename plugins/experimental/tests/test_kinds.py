"""The words of the contract, as these servers are told them, and what they cannot keep."""

from __future__ import annotations

from incremental_assets.core.config.dialects import known_dialects
from plugins.experimental.tests.kinds import KINDS, _oracle_words, _transact
from tests.adapters.databases import contract, keys_contract, places_contract
from tests.dialect_check.worlds import kinds


def test_the_check_of_a_server_has_both() -> None:
    assert set(KINDS) <= set(kinds())
    assert set(KINDS) <= set(known_dialects())


def test_what_a_server_cannot_keep_is_a_test_of_the_contract() -> None:
    there = {name for suite in (contract, keys_contract, places_contract) for name in dir(suite)}
    assert {name for kind in KINDS.values() for name in kind.cannot} <= there


def test_the_words_of_the_contract_in_transact_sql() -> None:
    assert _transact("INSERT INTO orders (note) VALUES ('it''s')") == "INSERT INTO orders (note) VALUES (N'it''s')"
    assert _transact("ALTER TABLE orders ADD COLUMN more text") == "ALTER TABLE orders ADD more nvarchar(max)"


def test_the_words_of_the_contract_in_oracles() -> None:
    assert _oracle_words("INSERT INTO orders (note) VALUES ('it''s new')") == (
        "INSERT INTO \"orders\" (\"note\") VALUES ('it''s new')"
    )
    assert _oracle_words("ALTER TABLE orders ADD COLUMN more text") == (
        'ALTER TABLE "orders" ADD "more" VARCHAR2(1000 CHAR)'
    )
    now = KINDS["oracle"].words.now
    assert _oracle_words(f"CREATE TABLE t (at TIMESTAMP(6) NOT NULL DEFAULT {now})") == (
        f'CREATE TABLE "t" ("at" TIMESTAMP(6) DEFAULT {now} NOT NULL)'
    )
