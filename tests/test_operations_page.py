"""The page for those on call has every metric and no other, and each expression is one that Prometheus reads."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from incremental_assets.core.operations.exposition import PREFIX
from incremental_assets.core.operations.known import Known
from incremental_assets.core.operations.metrics import families
from tests.prometheus import promtool

PAGE = (Path(__file__).parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")
NAMES = {family.name for family in families(Known(), (), "1")}


def test_every_metric_has_its_row_and_no_row_is_of_another() -> None:
    table = PAGE.split("\n## Every metric\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (exporter|source|table) \| [^|]+ \| [^|]+ \| [^|]+ \|$", table, re.MULTILINE)

    assert {name for name, _ in rows} == NAMES
    assert len(rows) == len(NAMES)


def test_every_question_of_the_service_level_is_answered() -> None:
    assert re.findall(r"^\| (M\d+) \|", PAGE, re.MULTILINE) == [f"M{number}" for number in range(1, 11)]


def expressions() -> list[str]:
    return [found for found in re.findall(r"`([^`\n]+)`", PAGE) if PREFIX in found and found != PREFIX]


def test_the_names_in_expressions_are_those_of_metrics() -> None:
    told = {re.sub(r"_bucket$", "", name) for name in re.findall(rf"{PREFIX}(\w+)", " ".join(expressions()))}
    assert told <= NAMES
    assert len(told) > 8


def test_prometheus_reads_every_expression(tmp_path: Path) -> None:
    rules = [{"record": f"one:of:{number}", "expr": found} for number, found in enumerate(expressions())]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "page", "rules": rules}]}))
    checked = subprocess.run(
        [promtool(), "check", "rules", str(tmp_path / "rules.yaml")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("block", re.findall(r"```text\n(scrape_configs:.*?)```", PAGE, re.DOTALL))
def test_prometheus_reads_what_there_is_to_copy_for_it(block: str, tmp_path: Path) -> None:
    (tmp_path / "prometheus.yaml").write_text(block)
    checked = subprocess.run(
        [promtool(), "check", "config", str(tmp_path / "prometheus.yaml")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
