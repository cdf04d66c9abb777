"""sources.yaml -> frozen values, or every mistake in it at once, each with its line and its cure."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from incremental_assets.core.config import defaults, validate, yaml_source
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import ConfigurationError, Problem

CONFIG_VARIABLE = "INCREMENTAL_ASSETS_CONFIG"
"""The environment variable that names another file than the shipped one."""


def load(path: Path, *, number: int = 0, now: datetime | None = None) -> Configuration:
    """Read the file; ConfigurationError holds every mistake in it. `now` says how many partitions its grids have.

    References are kept as references: the file loads on a machine that has none of the secrets. In a `defs.yaml` of Dagster the
    configuration is the `attributes` of a component, the `number`-th of the file.
    """
    document, problems = yaml_source.read(_text(path), str(path), number)
    folder = path.resolve().parent
    broken = document.root is None and problems
    checked = None if broken else validate.check(document, folder, now or datetime.now(UTC), problems)
    if checked is None or problems:
        raise ConfigurationError(tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.line)))
    return defaults.configuration(checked, path.resolve())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        cure = "there is no such file; name it with --config or INCREMENTAL_ASSETS_CONFIG"
    except UnicodeDecodeError:
        cure = "the file is not UTF-8 text; save it as UTF-8"
    except OSError as error:
        cure = f"the file cannot be read ({error.strerror}); check its path and its permissions"
    raise ConfigurationError((Problem(str(path), 1, path.name, cure),))
