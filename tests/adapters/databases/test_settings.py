"""What a session sets is read back, and what comes is counted: on stand-ins that set it back, hide it, or cut their answers."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest

from incremental_assets.adapters.databases import whole
from incremental_assets.adapters.databases.mysql import rows_of, transactions
from incremental_assets.adapters.databases.mysql import settings as mysql
from incremental_assets.adapters.databases.mysql.flavour import MARIADB, MYSQL, Flavour
from incremental_assets.adapters.databases.settings import Setting, check_settings
from incremental_assets.adapters.databases.whole import Counted
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, TableShape

PLACE = "reader@db:3306/shop"
LIMIT = Setting("sql_select_limit", "0", "an answer has only so many rows", former="row_limit")


@dataclass
class Server:
    """Answers as a server of MariaDB or MySQL does on its settings; `fixed` it does not let be set, and says why."""

    settings: dict[str, str]
    fixed: dict[str, str] = field(default_factory=dict)
    unheard: tuple[str, ...] = ()
    """What something between us and the server keeps to itself, without a word."""
    clock: Iterable[int] = field(default_factory=itertools.count)
    said: list[str] = field(default_factory=list)

    def execute(self, sql: str) -> None:
        self.said.append(sql)
        if not (found := re.fullmatch(r"SET SESSION (\w+) = (.*)", sql)):
            return
        name, value = found[1], found[2].strip("'")
        if name in self.fixed:
            raise pymysql.err.OperationalError(1227, self.fixed[name])
        if name not in self.unheard:
            self.settings[name] = value

    def rows(self, sql: str) -> list[tuple[str | None, ...]]:
        if sql == "SELECT @@timestamp":
            return [(str(next(iter(self.clock))),)]
        asked = re.findall(r"'(\w+)'", sql)
        return [(name, value) for name, value in self.settings.items() if name in asked]


def of(flavour: Flavour, **changed: str) -> Server:
    """A server on which everything is otherwise than a session needs it, or as `changed`."""
    return Server({each.name: "otherwise" for each in mysql.settings_of(flavour)} | changed)


# --- read back ----------------------------------------------------------------------------------------


def test_a_setting_that_differs_is_named_with_its_value_what_it_does_and_the_cure() -> None:
    with pytest.raises(SourceRefused) as refused:
        check_settings(PLACE, [LIMIT], {"sql_select_limit": "500"}, {"sql_select_limit": "access denied"})
    assert str(refused.value) == (
        "reader@db:3306/shop: the session's `sql_select_limit` is '500' although the session sets it to '0' (the server says: access denied), and so an answer has "
        "only so many rows; allow this user to set it, and have no proxy or trigger set it back"
    )


def test_a_setting_that_nobody_tells_is_not_taken_for_one_that_is_right() -> None:
    with pytest.raises(SourceRefused, match="does not tell whether the session's `sql_select_limit` is '0'"):
        check_settings(PLACE, [LIMIT], {})
    check_settings(PLACE, [replace(LIMIT, everywhere=False)], {})


def test_a_setting_is_known_by_the_name_of_an_older_version_too() -> None:
    check_settings(PLACE, [LIMIT], {"row_limit": "0"})
    with pytest.raises(SourceRefused, match="the session's `row_limit` is '7'"):
        check_settings(PLACE, [LIMIT], {"row_limit": "7"})


# --- MariaDB and MySQL ----------------------------------------------------------------------------------


@pytest.mark.parametrize("flavour", [MARIADB, MYSQL], ids=["mariadb", "mysql"])
def test_whatever_was_set_the_session_has_its_own(flavour: Flavour) -> None:
    server = of(flavour)
    mysql.set_all(server, flavour, PLACE)
    assert server.settings | {"timestamp": ""} == {
        **{each.name: each.value for each in mysql.settings_of(flavour)},
        "timestamp": "",
    }
    # A transaction that something has begun ends where nothing is read from it yet.
    assert "ROLLBACK" in server.said


def test_settings_that_are_right_are_not_set_again() -> None:
    server = Server({each.name: each.value for each in mysql.settings_of(MYSQL)})
    mysql.set_all(server, MYSQL, PLACE)
    assert len([each for each in server.said if each.startswith("SET SESSION")]) == 4


@pytest.mark.parametrize("name", [each.name for each in mysql.settings_of(MARIADB)])
def test_a_session_whose_setting_does_not_stay_is_refused(name: str) -> None:
    refusing, proxy = of(MARIADB), of(MARIADB)
    refusing.fixed[name] = "this user may not"
    proxy.unheard = (name,)
    with pytest.raises(SourceRefused, match=rf"`{name}` is 'otherwise'.*\(the server says: this user may not\)"):
        mysql.set_all(refusing, MARIADB, PLACE)
    with pytest.raises(SourceRefused, match=rf"`{name}` is 'otherwise' although"):
        mysql.set_all(proxy, MARIADB, PLACE)


def test_a_setting_that_is_right_and_may_not_be_set_does_no_harm() -> None:
    server = of(MARIADB, sql_select_limit=mysql.NO_LIMIT)
    server.fixed["sql_select_limit"] = "this user may not"
    mysql.set_all(server, MARIADB, PLACE)


def test_a_session_of_which_a_proxy_tells_nothing_is_refused() -> None:
    server = of(MARIADB)
    del server.settings["sql_mode"]
    server.unheard = ("sql_mode",)
    with pytest.raises(SourceRefused, match="does not tell whether the session's `sql_mode` is ''"):
        mysql.set_all(server, MARIADB, PLACE)


def test_a_limit_that_allows_no_rows_does_not_hide_how_the_session_is_set() -> None:
    server = of(MYSQL, sql_select_limit="0")
    told = server.rows
    server.rows = lambda sql: [] if server.settings["sql_select_limit"] == "0" else told(sql)  # type: ignore[method-assign]
    mysql.set_all(server, MYSQL, PLACE)


def test_a_session_whose_clock_stands_still_is_refused() -> None:
    server = of(MARIADB)
    server.fixed["timestamp"], server.clock = "secure_timestamp", itertools.repeat(86400)
    with pytest.raises(SourceRefused, match=r"clock stands still at 86400.*\(secure_timestamp\)"):
        mysql.set_all(server, MARIADB, PLACE)


def test_a_dirty_read_that_would_show_what_is_committed_alone_is_refused() -> None:
    server = of(MARIADB)
    mysql.set_all(server, MARIADB, PLACE)
    with pytest.raises(SourceRefused, match="`transaction_isolation` is 'REPEATABLE-READ'"):
        mysql.check_dirty(server, MARIADB, PLACE)


def test_a_line_that_is_lost_is_no_refusal() -> None:
    server = of(MARIADB)

    def lost(sql: str) -> None:
        raise pymysql.err.OperationalError(2013, "Lost connection")

    server.execute = lost  # type: ignore[method-assign]
    with pytest.raises(pymysql.err.OperationalError, match="Lost connection"):
        mysql.set_all(server, MARIADB, PLACE)


def listed(*, waits: bool) -> tuple[str, ...]:
    """A transaction as the list has it."""
    return ("7", "0", "SELECT nonce", "0", "12", "1" if waits else "0", "nonce")


def test_a_list_of_transactions_that_may_have_had_no_room_for_all_is_not_believed() -> None:
    """The server cuts it at 16 MiB; what transactions wait for lies there, too."""
    assert not transactions.is_full([listed(waits=False)] * 900)
    assert transactions.is_full([listed(waits=False)] * 12_000)
    assert transactions.is_full([*[listed(waits=False)] * 950, listed(waits=True)])


def test_a_run_that_may_not_see_every_transaction_says_so_and_believes_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transactions.secrets, "token_hex", lambda _: "nonce")
    asked: Any = SimpleNamespace(number=7, snapshot=contextlib.nullcontext, execute=lambda *_: None)
    asked.rows = lambda *_: [listed(waits=False)] * 12_000
    found, why = transactions.Transactions().read(asked)
    assert (found.writers, "innodb_trx has no room for all of them" in why) == ((), True)
    asked.rows = lambda *_: [listed(waits=False)]
    assert transactions.Transactions().read(asked)[1] == ""


# --- counted --------------------------------------------------------------------------------------------

ORDERS = TableShape(TableId("shop", "public", "orders"), ())


def test_an_answer_with_fewer_rows_than_there_are_is_refused_with_both_numbers() -> None:
    with pytest.raises(SourceRefused, match=r"shop\.public\.orders: the source counts 5,000 rows and sent 500,"):
        whole.check_whole(ORDERS, 500, lambda: 5000)
    whole.check_whole(ORDERS, 5000, lambda: 5000)


def test_a_view_whose_rows_come_and_go_by_the_time_is_refused_only_where_two_counts_agree() -> None:
    view = replace(ORDERS, arrivals=(Arrival.VIEW,))
    counts = iter([101, 102])
    whole.check_whole(view, 100, lambda: next(counts))
    with pytest.raises(SourceRefused, match="counts 101 rows and sent 100"):
        whole.check_whole(view, 100, lambda: 101)


def test_rows_are_counted_as_they_pass() -> None:
    rows = Counted(iter("abc"))
    assert (list(rows), rows.count) == (["a", "b", "c"], 3)


def test_a_sum_in_which_a_hash_is_missing_is_refused_with_the_setting_its_value_and_the_cure() -> None:
    allows: Any = SimpleNamespace(row=lambda _: ("1048576",))
    spec: Any = SimpleNamespace(id=ORDERS.id)
    assert rows_of.checked_sum(allows, spec, "12345") == "12345"
    with pytest.raises(
        SourceRefused, match=r"orders: .*`max_allowed_packet`, 1,048,576 bytes.*SET GLOBAL max_allowed_packet"
    ):
        rows_of.checked_sum(allows, spec, str(rows_of.TOO_LONG + 12345))
    with pytest.raises(SourceRefused, match="`max_allowed_packet`"):
        list(rows_of.checked(allows, spec, ["12345", None]))
