"""The places of the demo's shops, and the configurations that describe them, by what `demo --source` and `demo --lake` call them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

PLACES: Mapping[str, str] = {
    "postgresql": ".demo",
    "mariadb": ".demo-mariadb",
    "mysql": ".demo-mysql",
    "sqlite": ".demo-sqlite",
    "log": ".demo-log",
    "binlog": ".demo-binlog",
    "files": ".demo-files",
    "s3": ".demo-s3",
}
"""The name of the shop's folder, by its dialect; `log` is PostgreSQL as it is read from its log, `binlog` MariaDB likewise, `files` drops files, `s3` PostgreSQL with a lake in a store."""
INCOMING = "incoming"
"""In the shop's folder, where it drops files."""
BUCKET = "shop"
"""Of the lake, as `s3.yaml` names it."""
LAKES = ("s3",)
"""What `demo --lake` names; the others are sources."""
SOURCES = tuple(name for name in PLACES if name not in LAKES)
_DIALECTS = {"log": "postgresql", "s3": "postgresql", "binlog": "mariadb"}
"""Of places that are not called by them."""
_PACKAGE = Path(__file__).resolve().parents[1]
_PROJECT = _PACKAGE.parent / "pyproject.toml"
IN_CHECKOUT = _PROJECT.is_file() and '\nname = "incremental-assets"\n' in _PROJECT.read_text(encoding="utf-8")
"""Among installed packages may lie the file of another project: one that `create-dagster` has made puts it there."""
INSTALLED = Path("incremental-assets-demo")
"""The folder, in the one where the demo is started, of a demo that has no checkout: nobody's data lies among installed packages."""


def configuration_of(name: str) -> Path:
    """The file that is shipped: the package's own for the first of them."""
    return _PACKAGE / ("sources.yaml" if name == next(iter(PLACES)) else f"demo/{name}.yaml")


def shop_in(folder: Path, dialect: str) -> str | None:
    """The shop of this dialect whose folder has that name; None for a folder that is no demo's."""
    named = next((name for name, place in PLACES.items() if place == folder.name), None)
    return named if named is not None and _DIALECTS.get(named, named) == dialect else None


def shipped(file: Path) -> Path:
    """That file in a checkout; of an installed package a copy in `INSTALLED`, whose relative paths lead there. A copy that is there stays."""
    if IN_CHECKOUT:
        return file
    copy = INSTALLED / "configuration" / file.relative_to(_PACKAGE)
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return copy
