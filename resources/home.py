"""Dagster's home folder, and our files in it. Looked up, never created."""

from __future__ import annotations

import os
import socket
from pathlib import Path

HOME_VARIABLE = "DAGSTER_HOME"
_CHECKOUT = Path(__file__).resolve().parents[1]


def home_folder() -> Path:
    """DAGSTER_HOME; without it `.dagster` of the checkout, or a folder of the user's own when installed as a package."""
    configured = os.environ.get(HOME_VARIABLE)
    if configured:
        return Path(configured).absolute()
    if (_CHECKOUT / "dagster.yaml").is_file() and (_CHECKOUT / "pyproject.toml").is_file():
        return _CHECKOUT / ".dagster"
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "incremental-assets" / "dagster"


def engine_folder() -> Path:
    """The folder of this machine's engine: the home may be on a disk that several machines share."""
    return home_folder() / "engine" / socket.gethostname()
