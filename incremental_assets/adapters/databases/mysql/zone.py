"""The zone in which the server's own clock stamps values without one."""

from __future__ import annotations

import re

from incremental_assets.core.model.time_zones import proper_name

_OFFSET = re.compile(r"([+-])0?(\d{1,2}):00")


def server_zone(of_sessions: str, of_machine: str) -> str:
    """A zone as Python knows it, where it does: what a fresh session has, or the short name that the machine's zone had when the server started."""
    name = of_machine if of_sessions == "SYSTEM" else of_sessions
    if offset := _OFFSET.fullmatch(name):
        # Names of fixed offsets count the other way round.
        sign = "-" if offset[1] == "+" else "+"
        return "UTC" if offset[2] == "0" else f"Etc/GMT{sign}{offset[2]}"
    return proper_name(name) or name
