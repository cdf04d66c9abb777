"""What docs/how-to/files.md tells people to copy does what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.adapters.files.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "files.md").read_text(encoding="utf-8")


@pytest.mark.acceptance
def test_the_files_and_the_configuration_of_the_page_make_the_table_of_the_page(
    tmp_path: Path, spark: SparkSession
) -> None:
    (script,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    config, *_ = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True)
    (tmp_path / "sources.yaml").write_text(config)
    place = Place(tmp_path, spark)
    for name in ("orders", "clicks"):
        place.sync(name)
    rows = sorted(place.rows(), key=lambda row: row["id"])
    shown = [[str(row[name]) for name in ("id", "status", "at", "_file", "_file_row")] for row in rows]
    table = PAGE.partition("| id | status | at |")[2].split("\n\n")[0].splitlines()[2:]
    assert [[each.strip() for each in line.strip("|").split("|")] for line in table] == shown
    assert [each[:3] for each in place.quarantined()] == [("orders/2024-05-02.csv", "2", "at")]
    assert [(row["_file"], row["_file_row"]) for row in place.rows("clicks")] == [
        ("clicks/a.jsonl", 1),
        ("clicks/a.jsonl", 2),
    ]
