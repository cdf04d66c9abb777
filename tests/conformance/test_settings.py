"""T50: whatever a server, an account, a connect script, a proxy or the library's build sets, what is read is what is there, or nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.sqlite import snapshot
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.adapters.databases import mysql_contract, mysql_settings, settings_contract
from tests.adapters.databases.sqlite_settings import another_build
from tests.conformance.conftest import OpenWorld
from tests.conformance.meddling import assert_told
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.two_tables import BOTH, TABLES, row, stamped_tables, tables
from tests.conformance.variables import ends
from tests.conformance.worlds import OTHERS, MariaWorld, World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 600
WAYS = ("a client of people's", "one row, and no connection after it", "init_connect")
"""Those of `mysql_settings` that lost rows or failed every table; all of them are played by the contract of these databases."""
KINDS = {"mariadb": EmbeddedMariaDB, "mysql": EmbeddedMySQL}


def ways(world: World) -> Iterator[tuple[str, Callable[[], AbstractContextManager[object]]]]:
    """What is set against a sync, by a name."""
    if not isinstance(world, MariaWorld):
        yield "another build", another_build
        return

    def under(name: str) -> AbstractContextManager[object]:
        stack = ExitStack()
        admin = stack.enter_context(world.server.connect())
        stack.enter_context(mysql_settings.under(admin, world.title, name))
        return stack

    for name in WAYS:
        yield name, lambda name=name: under(name)


@scenario(
    "T50",
    "Globals and a connect script cut, refuse and replace what a SELECT answers (`sql_select_limit`, `max_join_size`, `completion_type`, `autocommit`, `timestamp`, a temporary table of a table's name; in SQLite another build of the library), "
    "while rows come and tables are synced and checked",
    holds="every row of every table lands, `settled`, and a check finds both sides equal",
)
@played_on(*OTHERS)
def test_whatever_is_set_every_row_lands(world: World, open_world: OpenWorld) -> None:
    desk = open_world(TABLES, *stamped_tables(world))
    desk.execute(f"INSERT INTO orders (id, note) SELECT n, 'first' FROM {world.many(ROWS)}")
    numbers = itertools.count(ROWS + 1)
    for name, against in ways(world):
        number = next(numbers)
        desk.execute(*row(number, f"row {number}"))
        with against():
            reports = desk.land()
            drifted = desk.check("orders")
        assert {report.guarantee for report in reports.values()} == {"settled"}, name
        assert drifted == 0, name
        for table in BOTH:
            desk.assert_equal(table)
    desk.assert_tidy(*BOTH)


@scenario(
    "T50",
    "Something between the source and the sync cuts its answers without a word: the last rows of each do not come",
    holds="every table stops with one sentence that says how many rows the source counts and how many came; its copy stays as it was, and with whole answers it goes on",
)
@played_on(*OTHERS)
def test_answers_that_are_cut_are_not_believed(
    world: World, open_world: OpenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = open_world(TABLES, *tables(world), *row(1, "first"), *row(2, "second"))
    desk.land()
    before = {name: desk.copy(name) for name in BOTH}
    desk.execute(*row(3, "third"), *row(4, "fourth"))
    with monkeypatch.context() as patched:
        cut(patched)
        for report in desk.sync().values():
            assert_told(report, "the source counts", "so nothing was written", "run the sync again")
    assert {name: desk.copy(name) for name in before} == before
    desk.land()
    for name in BOTH:
        desk.assert_equal(name)
    desk.assert_tidy(*BOTH)


def cut(patched: pytest.MonkeyPatch) -> None:
    """Without the last row of each answer."""
    batches, rows = Connection.batches, snapshot.read_rows

    def some(*asked: Any) -> Iterator[Any]:
        yield from ([column[:-1] for column in batch] for batch in batches(*asked))

    patched.setattr(Connection, "batches", some)
    patched.setattr(snapshot, "read_rows", lambda *asked: iter(list(rows(*asked))[:-1]))


STARTED: Mapping[str, Mapping[str, str]] = {
    # By none of them anything that a client says of itself is heard.
    "mariadb": {
        "query-cache-type": "1",
        "query-cache-size": "16777216",
        "skip-character-set-client-handshake": "ON",
        "character-set-server": "utf8mb4",
        "secure-timestamp": "YES",
        "sql-mode": "ORACLE",
        "completion-type": "2",
        "transaction-isolation": "READ-UNCOMMITTED",
    },
    "mysql": {
        "skip-character-set-client-handshake": "ON",
        "character-set-server": "latin1",
        "performance-schema": "OFF",
        "completion-type": "2",
        "transaction-isolation": "READ-UNCOMMITTED",
    },
}


@scenario(
    "T50",
    "A server is started with settings of its own: a cache of answers, character sets that no client may choose, a clock that no session may set, transactions that end their connection and show what is not committed; rows are "
    "written and committed late meanwhile",
    holds="every row lands, also the one that was committed late, `settled`; texts are as they were written",
)
@played_on("mariadb", "mysql")
def test_a_server_that_was_started_against_us(
    request: pytest.FixtureRequest, world: MariaWorld, spark: SparkSession, tmp_path: Path
) -> None:
    name = world.title.lower()
    server = KINDS[name](tmp_path / "server", settings=STARTED[name]).start()
    try:
        there = type(world)(server, world.database, tmp_path)
        there.prepare()
        there.configure(TABLES)
        there.execute(
            f"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, note varchar(40) CHARACTER SET utf8mb4, updated_at {there.words.stamp})",
            f"CREATE TABLE visits (who varchar(40) CHARACTER SET utf8mb4, at {there.words.stamp})",
            *there.touching("orders", "updated_at"),
            "SET NAMES utf8mb4",
        )
        desk: Stand[World] = Stand(there, spark)
        with closing(
            server.connect(there.database, sql_mode="ANSI_QUOTES", init_command="SET completion_type = 0")
        ) as other:
            cursor = other.cursor()
            cursor.execute("SET NAMES utf8mb4")
            for statement in row(1, "naïve 🎉"):
                cursor.execute(statement)
            desk.land()
            cursor.execute("START TRANSACTION")
            for statement in row(2, "late"):
                cursor.execute(statement)
            desk.land()
            desk.land()
            other.commit()
        reports = desk.land()
        assert {report.guarantee for report in reports.values()} == {"settled"}
        assert [each[1] for each in desk.copy("orders", "id", "note")] == ["naïve 🎉", "late"]
        assert sorted(who for (who,) in desk.copy("visits", "who")) == ["late", "naïve 🎉"]
        assert desk.check("orders") == 0
    finally:
        server.remove()


ENDING = frozenset(
    (
        "internal_tmp_disk_storage_engine",
        "max_allowed_packet",
        "max_connections",
        "max_session_mem_used",
        "max_user_connections",
        "offline_mode",
        "parser_max_mem_size",
        "require_secure_transport",
        "sort_buffer_size",
        "standard_compliant_cte",
        "tmp_disk_table_size",
    )
)
"""What may end a question or a connection: with a sentence of ours, and never with another answer."""
NAMES = frozenset(("server_id",))
"""What says which server it is."""
AT_ONCE = 20


@scenario(
    "T50",
    "Each variable of the server is set to its ends as a global, with every flag of those that have flags",
    holds="the catalogue, rows, counts, hashes, keys and the guarantee are the same under each; a limit that ends a question ends it with a sentence",
    long=True,
)
@played_on("mariadb", "mysql")
def test_no_variable_of_a_server_changes_an_answer(world: MariaWorld, tmp_path: Path) -> None:
    server = KINDS[world.title.lower()](tmp_path / "server").start()
    try:
        shop = mysql_contract.made(server)
        with closing(server.connect()) as admin:
            specs = settings_contract.made(shop)
            changed = list(_changed(shop, admin, specs))
    finally:
        server.remove()
    assert not changed, "\n".join(changed)


def _changed(shop: mysql_contract.Shop, admin: pymysql.Connection, specs: Any) -> Iterator[str]:
    """The settings under which something else is answered."""
    plain = settings_contract.answers(shop, specs)

    def ask(sql: str) -> Any:
        with admin.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def differs(values: Mapping[str, str]) -> str:
        with ExitStack() as back:
            for name, value in values.items():
                before = mysql_settings.undone(admin.cursor(), name)
                try:
                    ask(f"SET GLOBAL {name} = {value}")
                except pymysql.Error:
                    continue  # No value of this server's.
                back.callback(ask, before)
            try:
                found = settings_contract.answers(shop, specs)
            except IncrementalAssetsError as error:
                return "" if ENDING.issuperset(values) else f"{dict(values)}: {error}"
            return ", ".join(f"{dict(values)}: {what}" for what in plain if found[what] != plain[what])

    variables = ends(shop.server.title, ask)
    for turn in range(max(map(len, variables.values()))):
        values = {name: each[turn] for name, each in variables.items() if turn < len(each)}
        alone = [{name: value} for name, value in values.items() if name in ENDING]
        others = [(name, value) for name, value in values.items() if name not in ENDING | NAMES]
        together = [dict(others[first : first + AT_ONCE]) for first in range(0, len(others), AT_ONCE)]
        for group in (*alone, *together):
            if differs(group):
                yield from filter(None, (differs({name: value}) for name, value in group.items()))
