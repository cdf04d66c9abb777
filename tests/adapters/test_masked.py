"""Masked columns from a real database to the lake: what lands, what is compared, and that no value is left in any file of ours."""

from __future__ import annotations

import hashlib
import hmac
import shutil
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.databases.postgresql.rows.reader import JdbcReader
from incremental_assets.adapters.delta.staging import stage
from incremental_assets.core.model.mask import REDACTED, MaskKey
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.stand import Stand
from tests.remains import Value, remains
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "a key of tokens that nobody can try all values of"
EMAIL, PHONE, NAME, SSN, BORN = "planted@secret.example", "+49 170 5550123", "Zébedée \"Plant\"", 8_777_666_555_444_333, date(1987, 6, 5)  # fmt: skip
PLANTED: tuple[Value, ...] = (EMAIL, PHONE, NAME, SSN, BORN)
OPTIONS = "unlisted: ignore\nmask_key: {env: MASK_KEY}"
TABLE = "\n- {table: public.people, cursor: {column: at, type: timestamp}, strategy: upsert, history: scd2, contract: {age: {ge: 0}}%s}\n"
BARE = TABLE % ""
PLAIN = "\n- {table: public.people, cursor: {column: at, type: timestamp}, strategy: upsert%s}\n"
MASKS = ", columns: {mask: {email: hmac, phone: last4, name: redact, ssn: hmac, born: year}}"
TOKEN = hmac.new(KEY.encode(), EMAIL.encode(), hashlib.sha256).hexdigest()
ROW = f"'{EMAIL}', '{PHONE}', '{NAME}', {SSN}, '{BORN}'"


@pytest.fixture
def desk(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Stand:
    """One who lands, one whom the contract holds, one with a date that no copy can hold, one of whom nothing is known."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    monkeypatch.setenv("MASK_KEY", KEY)
    stand = Stand(Shop.open(postgres, database, tmp_path, BARE, options=OPTIONS), spark)
    stand.execute(
        "CREATE TABLE people (id int PRIMARY KEY, email text, phone text, name text, ssn bigint, born date, age int, at timestamptz NOT NULL DEFAULT clock_timestamp())",
        f"INSERT INTO people VALUES (1, {ROW}, 39), (2, {ROW}, -1), (3, '{EMAIL}', '{PHONE}', '{NAME}', {SSN}, 'infinity', 39), (4, NULL, NULL, NULL, NULL, NULL, NULL)",
        "UPDATE people SET at = '2024-01-31 10:00:00Z'",
    )
    # What is staged is gone after it has landed.
    monkeypatch.setattr(stage, "remove_folder", lambda *_: None)
    return stand


def lands(desk: Stand) -> None:
    desk.land()
    desk.execute("UPDATE people SET phone = phone || ' 9', at = clock_timestamp() WHERE id = 1")
    desk.land()


def begin_anew(desk: Stand, tables: str) -> None:
    shutil.rmtree(desk.shop.folder / "lake", ignore_errors=True)
    for file in desk.shop.folder.glob("checkpoints.db*"):
        file.unlink()
    desk.shop.configure(tables, OPTIONS)


def token_of(text: str, key: str = KEY) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def people(desk: Stand) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in desk.copy("people", "id", "email", "phone", "name", "ssn", "born")]


def verdicts(desk: Stand) -> dict[Check, Any]:
    return {each.check: each for each in desk.verdicts("people")}


def test_no_masked_value_is_in_any_file_below_lake_stage_and_home(desk: Stand) -> None:
    """What finds none has found each of them before, where nothing was masked."""
    lands(desk)
    found = remains(desk.shop.folder, *PLANTED)
    for value in PLANTED:
        assert remains(desk.shop.folder, value), f"the search does not find {value!r}"
    for place in ("/people/", "people__history", "_quarantine", "_staging"):
        assert any(place in each for each in found), f"the search does not find what is in {place}: {sorted(found)}"

    begin_anew(desk, TABLE % MASKS)
    lands(desk)
    desk.verdicts("people")

    assert len(desk.quarantined("people")) == 2
    assert remains(desk.shop.folder, *PLANTED) == {}
    assert [row[1] == TOKEN for row in people(desk)] == [True, False]


def test_what_lands_tells_rows_apart_and_no_value_and_only_the_rest_is_compared(desk: Stand) -> None:
    begin_anew(desk, PLAIN % MASKS)
    desk.land()
    token = token_of(str(SSN))

    assert people(desk) == [
        *((number, TOKEN, "****0123", REDACTED, token, date(1987, 1, 1)) for number in (1, 2)),
        (4, None, None, None, None, None),
    ]
    (first,) = (desk.shop.lake("people") / "_delta_log").glob("*0.json")
    assert "masked: hmac" in first.read_text()
    found = verdicts(desk)
    assert found[Check.RECONCILIATION].passed
    assert "; not compared, as they are masked: email, phone, name, ssn, born" in found[Check.RECONCILIATION].detail
    assert found[Check.SCHEMA].passed

    desk.execute("UPDATE people SET age = 7, email = 'x' WHERE id = 1")
    assert desk.check("people") == 1
    assert desk.repair("people").report.rows.updated == 1
    assert desk.check("people") == 0
    assert people(desk)[0][1] == token_of("x")


@pytest.mark.acceptance
def test_another_mask_or_key_is_refused_until_everything_is_read_again(
    desk: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_anew(desk, PLAIN % MASKS)
    desk.land()
    before = people(desk)

    monkeypatch.setenv("MASK_KEY", KEY[::-1])
    stopped = desk.sync()["people"]
    assert stopped.status is Status.FAILED
    assert f"ssn: hmac by the key {MaskKey(KEY).id}" in str(stopped.error)
    assert "keep what they hold, until they are removed" in str(stopped.error)
    assert people(desk) == before

    desk.land(mode=Mode.FULL_REFRESH)
    assert people(desk)[0][1] == token_of(EMAIL, KEY[::-1])


@pytest.mark.acceptance
@pytest.mark.parametrize("table", [PLAIN, "\n- {table: public.people, strategy: full_refresh, refresh_every: 1s%s}\n"])
def test_a_column_that_has_given_its_name_to_another_one_lands_nothing_in_the_clear(desk: Stand, table: str) -> None:
    begin_anew(desk, table % ", columns: {mask: {email: redact}}")
    desk.execute("UPDATE people SET born = NULL", "ALTER TABLE people ADD COLUMN note text")
    desk.land()
    desk.execute(
        "ALTER TABLE people RENAME email TO kept",
        "ALTER TABLE people RENAME note TO email",
        "UPDATE people SET phone = phone || ' 9', at = clock_timestamp()",
    )
    stopped = desk.sync()["people"]
    assert "masks kept: redact -> email: redact" in str(stopped.error)
    assert remains(desk.shop.folder, EMAIL) == {}
    desk.shop.configure(table % ", columns: {mask: {kept: redact}}", OPTIONS)
    desk.land()
    assert remains(desk.shop.folder, EMAIL) == {}


@pytest.mark.acceptance
def test_rows_that_spark_itself_reads_are_masked_by_its_workers(desk: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JdbcReader, "parts", lambda *_: None)
    begin_anew(desk, TABLE % MASKS)
    lands(desk)

    assert remains(desk.shop.folder, *PLANTED) == {}
    assert people(desk) == [
        (1, TOKEN, "****23 9", REDACTED, token_of(str(SSN)), date(1987, 1, 1)),
        (4, None, None, None, None, None),
    ]
