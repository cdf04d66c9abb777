"""The tables of docs/guarantee.md that say what a session sets, as they follow from the tables of the databases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from incremental_assets.adapters.databases.mysql.flavour import MARIADB, MYSQL
from incremental_assets.adapters.databases.mysql.settings import settings_of
from incremental_assets.adapters.databases.settings import Setting
from incremental_assets.adapters.databases.sqlite import settings as sqlite

PAGE = Path(__file__).parents[1] / "docs" / "guarantee.md"
_HEADS = ("| setting | ours | else |", "|---|---|---|")
_MARIADB, _MYSQL = settings_of(MARIADB), settings_of(MYSQL)
TABLES: dict[str, Sequence[Setting]] = {
    "MariaDB and MySQL": [each for each in _MARIADB if each in _MYSQL],
    "MariaDB": [each for each in _MARIADB if each not in _MYSQL],
    "MySQL": [each for each in _MYSQL if each not in _MARIADB],
    "SQLite": sqlite.SETTINGS,
}


def table(settings: Iterable[Setting]) -> str:
    """In Markdown."""
    return "\n".join([*_HEADS, *(_row(each) for each in settings)])


def section(heading: str) -> str:
    """What the page says below a heading, up to the next one."""
    text = PAGE.read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n### Settings of {heading}\n")
    return re.split(r"\n##+ ", rest)[0]


def _row(setting: Setting) -> str:
    name = f"`{setting.name}`" + (f" (`{setting.former}`)" if setting.former else "")
    name += "" if setting.everywhere else ", where there is one"
    value = f"`{setting.value}`" if setting.value else "empty"
    why = setting.why.replace("|", "\\|")
    return f"| {name} | {value} | {why} |"
