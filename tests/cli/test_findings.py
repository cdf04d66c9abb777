"""What `doctor` says of a source."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql.doctor import missing_sql
from incremental_assets.cli.commands.doctor import answer, of_folder, read_by_others
from incremental_assets.cli.findings.finding import Finding, Health, warn
from incremental_assets.cli.findings.of_source import of_source
from incremental_assets.cli.findings.of_table import of_table, of_trouble
from incremental_assets.cli.render import plain_lines
from incremental_assets.cli.selection import Trouble
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts, Wanted
from incremental_assets.core.config.load import load
from incremental_assets.core.config.masks import with_masks
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.mask import Mask
from tests.cli.conftest import CONFIG
from tests.scenario import ORDERS, orders


def test_a_user_who_sees_no_other_transactions_is_best_effort_only_while_another_session_has_one_open(
    tmp_path: Path,
) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    (source,) = load(tmp_path / "sources.yaml").sources
    now = datetime(2024, 1, 31, tzinfo=UTC)
    facts = SourceFacts("PostgreSQL 18.4", "reader", "UTF8", False, False, True, True, False, "UTC", now)

    (found,) = (each for each in of_source(source, facts) if each.topic == "guarantee")

    assert found.detail == (
        "other users' transactions cannot be seen, so that runs are best_effort while another session has a transaction open"
    )


def test_a_source_that_cannot_compare_its_rows_is_told_with_the_statement_that_mends_it(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    (source,) = load(tmp_path / "sources.yaml").sources
    now = datetime(2024, 1, 31, tzinfo=UTC)
    facts = SourceFacts("9.7.4", "reader", "UTF8", False, True, True, True, False, "UTC", now, not_compared="no MD5()")

    (found,) = (each for each in of_source(source, facts) if each.topic == "comparison")

    assert (found.health, found.detail) == (Health.WARN, "checks, and syncs that compare rows, fail: no MD5()")
    assert not [each for each in of_source(source, replace(facts, not_compared="")) if each.topic == "comparison"]
    assert missing_sql(Address("mysql", "db", 3306, "shop", "reader", ""), (), facts).splitlines() == [
        "INSTALL COMPONENT 'file://component_classic_hashing';"
    ]


def test_rows_that_cross_a_network_unencrypted_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG.replace("host: localhost", "host: db\n    tls: disable"))
    (source,) = load(tmp_path / "sources.yaml").sources
    now = datetime(2024, 1, 31, tzinfo=UTC)
    facts = SourceFacts("PostgreSQL 18.4", "reader", "UTF8", False, True, True, True, False, "UTC", now)

    (found,) = (each for each in of_source(source, facts) if each.topic == "tls")

    assert (found.health, found.detail) == (
        Health.WARN,
        "rows and the password cross the network to db unencrypted, as `tls: disable` is written",
    )


def _index_told(tmp_path: Path, *, rows: int, size: int) -> list[str]:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    now = datetime(2024, 1, 31, tzinfo=UTC)
    source = SourceFacts("PostgreSQL 18.4", "reader", "UTF8", False, True, True, True, False, "UTC", now)
    wanted = Wanted(ORDERS, ("updated_at",))
    facts = TableFacts(wanted, True, True, True, unindexed=("updated_at",), rows=rows, bytes=size)
    return [each.topic for each in of_table(orders(), facts, source, landed=True) if "index" in each.topic]


def test_an_index_is_not_advised_for_a_table_that_is_known_to_be_small(tmp_path: Path) -> None:
    assert _index_told(tmp_path, rows=200, size=48_000) == []
    assert _index_told(tmp_path, rows=2_000_000, size=90_000_000) == ["index"]
    # A view, of which nothing is known.
    assert _index_told(tmp_path, rows=0, size=0) == ["index"]


def test_a_role_that_others_use_too_is_told_with_them_and_a_pooler_and_settings_without_a_warning(
    tmp_path: Path,
) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    (source,) = load(tmp_path / "sources.yaml").sources
    now = datetime(2024, 1, 31, tzinfo=UTC)
    facts = SourceFacts(
        "PostgreSQL 18.4", "shop", "UTF8", False, True, True, True, False, "UTC", now, pooled=True, shared_with="web (pid 7)",
        put_aside=("quote_all_identifiers = on",),
    )  # fmt: skip

    found = {each.topic: each for each in of_source(source, facts)}

    assert "others are logged in as shop: web (pid 7)" in found["role"].detail
    assert {topic: found[topic].health for topic in ("pooler", "role", "settings")} == {
        "pooler": Health.OK,
        "role": Health.WARN,
        "settings": Health.OK,
    }
    assert found["settings"].detail.endswith("not by quote_all_identifiers = on")


def test_a_column_that_shows_more_than_its_row_is_a_warning_with_its_cure() -> None:
    found = orders()
    columns = tuple(
        replace(
            each, shown_by="a value of the type regclass is written as the catalogue or a setting says when it is read"
        )
        if each.name == "id"
        else each
        for each in found.columns
    )
    spec = replace(found, shape=replace(found.shape, columns=columns))
    now = datetime(2024, 1, 31, tzinfo=UTC)
    facts = SourceFacts("PostgreSQL 18.4", "reader", "UTF8", False, True, True, True, False, "UTC", now)

    (said,) = (
        each
        for each in of_table(
            spec, TableFacts(Wanted(spec.id), exists=True, usable=True, readable=True), facts, landed=True
        )
        if each.topic == "shown"
    )

    assert said.health is Health.WARN
    assert said.detail.startswith("what 'id' shows does not depend on its row alone: a value of the type regclass")
    assert said.detail.endswith("its runs are best_effort")
    assert "compare" in said.cure


def test_a_copy_of_an_earlier_release_that_tells_keys_apart_by_their_writing_is_a_warning_with_its_cure() -> None:
    found = orders()
    columns = tuple(
        replace(each, collation="utf8mb4_general_ci padded") if each.name == "id" else each for each in found.columns
    )
    spec = replace(found, shape=replace(found.shape, columns=columns))
    facts = TableFacts(Wanted(spec.id), exists=True, usable=True, readable=True)
    now = datetime(2024, 1, 31, tzinfo=UTC)
    source = SourceFacts("MariaDB 10.11", "reader", "UTF8", False, True, True, True, False, "UTC", now)

    (said,) = (each for each in of_table(spec, facts, source, landed=True) if each.topic == "key")

    assert said.health is Health.WARN
    assert "takes keys for equal that are written differently ('id': utf8mb4_general_ci padded)" in said.detail
    assert "--full-refresh` makes it anew" in said.detail
    assert said.detail.endswith("its runs are best_effort")
    assert said.cure.startswith("one full refresh")


def test_what_is_found_of_many_tables_alike_is_one_line_and_the_worst_comes_first() -> None:
    tables = [f"shop.public.t{number:03d}" for number in range(300)]
    found = answer(
        [
            *(Finding(name, "cursor", Health.OK, "read by updated_at") for name in tables),
            *(warn(name, "index", "no index begins with updated_at", "create one") for name in tables[:4]),
            Finding("shop.public.t007", "readable", Health.FAIL, "this user may not read it", "grant it"),
        ]
    )

    assert [" ".join(line.split()) for line in plain_lines(found)] == [
        "of what found",
        "fail shop.public.t007 readable this user may not read it",
        "warn shop.public.t000, shop.public.t001, shop.public.t002, shop.public.t003 index no index begins with updated_at",
        "ok shop.public.t000, shop.public.t001, shop.public.t002 and 297 others cursor read by updated_at",
        "shop.public.t007 readable: grant it",
        "shop.public.t000, shop.public.t001, shop.public.t002, shop.public.t003 index: create one",
        "300 ok, 4 to look at, 1 to fix",
    ]
    assert len(found.document["findings"]) == 305


def test_what_is_ok_is_counted_beyond_a_page_and_what_is_not_is_always_shown() -> None:
    loads = [Finding(f"shop.public.t{n:03d}", "first load", Health.OK, f"reads about {n} rows") for n in range(300)]
    late = [warn(f"shop.public.t{n:03d}", "late", f"rows come {n} s late", "set a lookback") for n in range(60)]

    few, many = list(plain_lines(answer(loads))), list(plain_lines(answer([*loads, *late])))

    assert len(few) == 1 + 40 + 1 + 1
    assert few[-2] == "and 260 more that are ok; `--json` has them all, `--select` those of a few tables"
    assert sum(line.startswith("warn") for line in many) == 60
    assert many[-3] == "and 300 more that are ok; `--json` has them all, `--select` those of a few tables"
    assert many[-2] == "shop.public.t000, shop.public.t001, shop.public.t002 and 57 others late: set a lookback"


def test_a_table_that_is_not_in_the_source_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    (terms,) = load(tmp_path / "sources.yaml").sources[0].tables
    found = of_trouble(Trouble(ORDERS, terms, SelectionError("shop.public.orders: there is no such table")))
    assert (found.subject, found.health, found.detail) == (str(ORDERS), Health.FAIL, "there is no such table")


@pytest.mark.parametrize(
    ("room", "health", "said"),
    [
        (6, Health.OK, "at most 4, and the server has room for 6"),
        (4, Health.OK, "room for 4"),
        (3, Health.WARN, "`parallel` allows 4 connections, and the server has room for 3 of reader now"),
        (1, Health.WARN, "room for 1 of reader"),
    ],
)
def test_fewer_connections_than_a_sync_may_open_are_told(tmp_path: Path, room: int, health: Health, said: str) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    (source,) = load(tmp_path / "sources.yaml").sources
    now = datetime(2024, 1, 31, tzinfo=UTC)
    facts = SourceFacts("PostgreSQL 18.4", "reader", "UTF8", False, True, True, True, False, "UTC", now, room=room)

    (found,) = (each for each in of_source(source, facts) if each.topic == "connections")

    assert found.health is health
    assert said in found.detail


def test_a_folder_that_every_user_may_enter_is_told_and_one_behind_a_closed_door_is_not() -> None:
    with TemporaryDirectory() as shared:
        home = Path(shared) / "dagster"
        home.mkdir()
        home.chmod(0o755)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DAGSTER_HOME", str(home))
            Path(shared).chmod(0o755)
            (told,) = read_by_others("s3://lake")
            Path(shared).chmod(0o700)
            behind = list(read_by_others("s3://lake"))
    assert (told.subject, told.health) == ("dagster", Health.WARN)
    assert told.cure == f"chmod o-rwx {home}"
    assert behind == []


def test_columns_that_are_masked_are_told_and_what_lands_of_them() -> None:
    spec = with_masks(orders(), (("status", Mask.REDACT),))
    now = datetime(2024, 1, 31, tzinfo=UTC)
    source = SourceFacts("PostgreSQL 18.4", "reader", "UTF8", False, True, True, True, False, "UTC", now)
    facts = TableFacts(Wanted(ORDERS, ("updated_at",)), True, True, True)
    told = [each for each in of_table(spec, facts, source, landed=True) if each.topic == "masked"]
    assert [each.detail for each in told] == ["status: (masked) in place of each value; checks leave it out"]


def test_a_place_that_can_be_no_folder_fails_with_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert of_folder("dagster", "home", tmp_path / "new" / "home", "…").health == Health.OK
    found = of_folder("dagster", "home", tmp_path / "file" / "home", "name another folder by DAGSTER_HOME")
    assert (found.health, found.detail) == (Health.FAIL, f"{tmp_path / 'file'} may not be written by this user")
    assert found.cure == "change its owner, or name another folder by DAGSTER_HOME"
