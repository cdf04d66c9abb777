"""What `doctor` says of a source."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from incremental_assets.cli.findings.finding import Health
from incremental_assets.cli.findings.of_source import of_source
from incremental_assets.cli.findings.of_table import of_trouble
from incremental_assets.cli.selection import Trouble
from incremental_assets.core.checks.doctor import SourceFacts
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import SelectionError
from tests.cli.conftest import CONFIG
from tests.scenario import ORDERS


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


def test_a_table_that_is_not_in_the_source_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    (terms,) = load(tmp_path / "sources.yaml").sources[0].tables
    found = of_trouble(Trouble(ORDERS, terms, SelectionError("shop.public.orders: there is no such table")))
    assert (found.subject, found.health, found.detail) == (str(ORDERS), Health.FAIL, "there is no such table")
