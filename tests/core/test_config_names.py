"""Has each table, history and source a name of its own?"""

from pathlib import Path

import pytest

from incremental_assets.core.config import load as config
from incremental_assets.core.config import validate as config_check
from tests.core.mistakes import FILE, NOW, SOURCE, in_source, only_problem


def test_a_table_is_listed_once(tmp_path: Path) -> None:
    text = in_source('tables:\n  - "public.a:x:timestamp:e"\n  - {table: public."a"} #!')
    assert "already listed in line 10" in only_problem(tmp_path, text).cure


def test_a_history_has_a_name_that_no_listed_table_has(tmp_path: Path) -> None:
    kept = "{table: public.e, strategy: upsert, history: scd2, cursor: {column: x, type: timestamp}}"
    text = in_source(f"tables:\n  - {kept}\n  - {{table: public.e__history}} #!")
    assert "the history of the table in line 10 has this name" in only_problem(tmp_path, text).cure


@pytest.mark.parametrize("second", ["public.Orders", "PUBLIC.orders"])
def test_names_that_differ_by_case_alone_need_a_lake_that_minds_it(
    tmp_path: Path, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = in_source(f'tables:\n  - "public.orders:x:timestamp"\n  - table: {second} #!')
    (tmp_path / "sources.yaml").write_text(text)
    monkeypatch.setattr(config_check, "ignores_case", lambda lake: False)
    assert len(config.load(tmp_path / "sources.yaml", now=NOW).source("shop").tables) == 2
    monkeypatch.setattr(config_check, "ignores_case", lambda lake: True)
    assert "differ by case alone" in only_problem(tmp_path, text).cure


def test_sources_that_differ_by_case_alone_need_a_lake_that_minds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_check, "ignores_case", lambda lake: True)
    assert "two sources" in only_problem(tmp_path, FILE + SOURCE + "  SHOP: #!\n" + SOURCE).cure
