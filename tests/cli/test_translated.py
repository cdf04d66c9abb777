"""`doctor` fills in `translation` for every table: a sync that finds nothing to do names no asset."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.errors import SourceUnreachable
from tests.cli.conftest import Call, Outside


@pytest.mark.parametrize(
    ("written", "health", "detail"),
    [
        ("{key: 'raw/{{ table.name }}'}", "ok", "2 keys, each of one table"),
        ("{key: 'raw/{{ tabel.name }}'}", "fail", "'tabel' is undefined"),
        ("{key: raw/all}", "fail", "one asset key, raw/all"),
    ],
)
def test_doctor_says_whether_assets_can_be_named(
    call: Call, outside: Outside, config: Path, written: str, health: str, detail: str
) -> None:
    config.write_text(
        f"translation: {written}\n{config.read_text()}      - {{table: public.countries, strategy: full_refresh}}\n"
    )
    outside.broken = SourceUnreachable("shop: nobody answers")
    found = call("doctor", "--json").document["findings"]
    (finding,) = (each for each in found if each["topic"] == "translation")
    assert finding["health"] == health
    assert detail in finding["detail"]


def test_nothing_is_said_where_nothing_is_translated(call: Call, outside: Outside) -> None:
    outside.broken = SourceUnreachable("shop: nobody answers")
    assert "translation" not in {each["topic"] for each in call("doctor", "--json").document["findings"]}
