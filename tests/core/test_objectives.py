"""Objectives as written, inherited, and judged."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.objective import NO_OBJECTIVES, Objectives, Within, parse_share, percent
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.objectives import fastest

FILE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: postgresql
    host: localhost
    database: shop
    user: reader
    password: {env: SHOP_PASSWORD}
    defaults: {DEFAULTS}
    tables:
      - table: public.orders
        cursor: {column: updated_at, type: timestamp}
        KEYS
      - {table: public.countries, strategy: full_refresh}
"""
BOTH = "slo: {freshness: 95% within 5m, success: 99.9%}"
IN_FULL = Objectives(Within(Decimal("0.95"), timedelta(minutes=5)), Decimal("0.999"))


def slo(folder: Path, defaults: str, keys: str = "strategy: append", table: str = "orders") -> Objectives:
    (folder / "sources.yaml").write_text(FILE.replace("DEFAULTS", defaults).replace("KEYS", keys))
    return terms_of(load(folder / "sources.yaml").source("shop"), TableId("shop", "public", table)).slo


@pytest.mark.parametrize(
    ("text", "share"), [("99.9%", "0.999"), ("5%", "0.05"), ("99.9999%", "0.999999"), ("0.5%", "0.005")]
)
def test_a_share_is_read_and_written_exactly(text: str, share: str) -> None:
    assert parse_share(text) == Decimal(share)
    assert percent(Decimal(share)) == text


@pytest.mark.parametrize("text", ["100%", "0%", "0.0%", "99.9", "-1%", "95 %", "1e1%", "٩٩%", ""])
def test_a_share_that_leaves_no_budget_or_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="more than nothing and less than 100%"):
        parse_share(text)


@pytest.mark.parametrize("text", ["95%", "95% within", "95% within 0s", "within 5m", "95% within five"])
def test_an_age_is_written_with_its_share(text: str) -> None:
    with pytest.raises(ValueError, match="write "):
        Within.parse(text)


def test_an_objective_is_said_as_it_is_written() -> None:
    assert str(Within.parse("99.5% within 90s")) == "99.5% within 90s"


def test_those_of_a_source_are_for_its_tables_and_of_freshness_for_those_that_are_followed(tmp_path: Path) -> None:
    assert slo(tmp_path, BOTH) == IN_FULL
    assert slo(tmp_path, BOTH, table="countries") == Objectives(success=Decimal("0.999"))
    assert slo(tmp_path, BOTH, table="not_listed") == Objectives(success=Decimal("0.999"))
    assert slo(tmp_path, "owners: [team:shop]") == NO_OBJECTIVES


def test_those_of_a_table_are_in_place_of_the_source_s(tmp_path: Path) -> None:
    assert slo(tmp_path, BOTH, "slo: {success: 99%}") == Objectives(success=Decimal("0.99"))


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("slo: {freshness: 95%}", "write a share of all minutes and an age, like 95% within 5m"),
        ("slo: {success: 100%}", "write a share of the whole like 99.9%"),
        ("slo: {}", "write at least one key with its value"),
        ("slo: {sucess: 99%}", "success"),
    ],
)
def test_a_mistake_in_one_is_named_with_its_line(keys: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"sources.yaml:14: .*{told}"):
        slo(tmp_path, "owners: [team:shop]", keys)


@pytest.mark.parametrize(("share", "times"), [("0.9", 10), ("0.95", 20), ("0.999", 1000)])
def test_a_budget_burns_no_faster_than_if_nothing_holds(share: str, times: int) -> None:
    assert fastest(Decimal(share)) == times
