"""Each contender's own Python environment, from its registry, with pinned versions: made once under `.bench/`, kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.measuring import Failed, last_words

CONTENDERS = Path(__file__).parent / "contenders"

PINS: Mapping[str, tuple[str, ...]] = {
    "dlt": (
        "dlt[deltalake,filesystem,sql_database]==1.31.0", "connectorx==0.4.6", "deltalake==1.6.6", "pyarrow==26.0.1",
        "psycopg2-binary==2.9.13", "numpy==2.4.6", "pandas==2.3.3",
    ),
    # The newest whose program comes with the package: later ones download it when they first run.
    "sling": ("sling-linux-amd64==1.4.11",),
    "spark": ("pyspark==4.2.0", "delta-spark==4.4.0"),
    "copy": ("duckdb==2.0.0", "psycopg[binary]==3.3.9"),
    "plot": ("matplotlib==3.11.2",),
}  # fmt: skip


class Environments:
    """Makes what is asked for, when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def python(self, name: str) -> Path:
        """The environment's interpreter. Raises Failed where its packages are not to be had."""
        return self._ready(name) / "bin" / "python"

    def program(self, name: str, program: str) -> Path:
        """A program that one of its packages carries. Raises Failed where there is none for this machine."""
        found = next(self._ready(name).glob(f"lib/*/site-packages/*/bin/{program}"), None)
        if found is None:
            raise Failed(f"its package brought no program {program} for this machine")
        return found

    def version(self, name: str, package: str) -> str:
        """As pinned."""
        return next(pin.partition("==")[2] for pin in PINS[name] if pin.split("==")[0].split("[")[0] == package)

    def _ready(self, name: str) -> Path:
        place, pins = self._folder / name, "\n".join(PINS[name])
        mark = place / "pins.txt"
        if not (mark.exists() and mark.read_text(encoding="utf-8") == pins):
            uv = Path(sys.executable).with_name("uv")
            _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, place)
            _run(
                uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", place / "bin" / "python", *PINS[name]
            )
            mark.write_text(pins, encoding="utf-8")
        return place


def _run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"its environment could not be made ({last_words('', done.stderr, done.returncode)})")
