"""Known-bad variants of the capture by binlog: each leaves one thought out, and a scenario notices it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from incremental_assets.adapters.logs.mysql import decode
from incremental_assets.adapters.logs.mysql.events import Events
from incremental_assets.adapters.logs.mysql.statements import Name, Told, told
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.logs import test_binlog_mutants as mutants
from tests.adapters.logs.binlogged import OpenBinlog
from tests.adapters.logs.opening import binlog_server
from tests.conformance import test_binlog_definitions as definitions
from tests.conformance import test_binlog_rows as rows
from tests.conformance import test_binlog_server as server
from tests.conformance import test_binlog_transactions as transactions
from tests.conformance.variants import Variant, assert_killed

pytestmark = pytest.mark.acceptance

Patch = pytest.MonkeyPatch


def _without_ignore(text: str, schema: str, followed: Collection[Name]) -> Told:
    return told(text.replace(" IGNORE ", " "), schema, followed)


def _restored(shop: OpenBinlog, folder: Path) -> None:
    with binlog_server(EmbeddedMariaDB, folder / "own") as own:
        server.test_a_server_that_was_restored(shop, own)


VARIANTS: dict[str, Variant] = {
    "a load is one of the end of the log when it has ended": Variant(
        "loses what is committed while a table is loaded",
        mutants._joined_too_late,
        "the join of a load and the log under writers",
        lambda shop, _: transactions.test_the_join_of_a_load_and_the_log_under_writers(shop),
    ),
    "what a binlog has as statements is passed over": Variant(
        "keeps rows that are gone, and misses what a session wrote by statements",
        mutants._statements_are_passed,
        "a log that has lost something",
        lambda shop, _: server.test_a_log_that_has_lost_something(shop, "a session writes by statements"),
    ),
    "a row keeps its key": Variant(
        "leaves a row under the key that it had",
        mutants._moves_are_updates,
        "keys that change",
        lambda shop, _: rows.test_keys_that_change(shop),
    ),
    "a file of a binlog is known by its number": Variant(
        "goes on in the log of a server that was put back to a backup",
        lambda patch: patch.setattr(Events, "_is_of", lambda *_: None),
        "a server that was restored",
        _restored,
    ),
    "an index leaves rows as they are, whatever else is said": Variant(
        "keeps rows that an ALTER IGNORE has deleted",
        lambda patch: patch.setattr(decode, "told", _without_ignore),
        "an index that deletes rows",
        lambda shop, _: definitions.test_an_index_that_deletes_rows(shop),
    ),
}


@pytest.mark.parametrize("binlog", ["mariadb-log"], indirect=True)
@pytest.mark.parametrize("name", VARIANTS)
def test_a_known_bad_variant_is_killed(
    name: str,
    open_binlog: OpenBinlog,
    tmp_path: Path,
    monkeypatch: Patch,
    record_property: Callable[[str, object], None],
) -> None:
    assert_killed(name, VARIANTS[name], monkeypatch, record_property, open_binlog, tmp_path)
