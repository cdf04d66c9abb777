"""The places of the demo's shop, and the configuration that describes it, by dialect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PLACES: Mapping[str, str] = {
    "postgresql": ".demo",
    "mariadb": ".demo-mariadb",
    "mysql": ".demo-mysql",
    "sqlite": ".demo-sqlite",
}
"""The name of the shop's folder."""
_HERE = Path(__file__).parent


def configuration_of(dialect: str) -> Path:
    """The file that is shipped: the package's own for the first of them."""
    return _HERE.parent / "sources.yaml" if dialect == next(iter(PLACES)) else _HERE / f"{dialect}.yaml"
