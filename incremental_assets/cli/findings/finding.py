"""One finding, and what several of them advise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.config.edits import Edit

SQL = "`incremental-assets doctor --sql` prints the statement"
TRY_IT = "run the tests against a server of yours, `make dialect-check URL=…`, and compare each copy with its source, `incremental-assets check`"


class Health(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; `cure` says what to do unless it is ok."""

    subject: str
    topic: str
    health: Health
    detail: str
    cure: str = ""
    edit: Edit | None = None
    """The same as a change of the configuration, where it is one and leaves nothing to choose."""


def warn(subject: str, topic: str, detail: str, cure: str, edit: Edit | None = None) -> Finding:
    """A finding that stops no sync."""
    return Finding(subject, topic, Health.WARN, detail, cure, edit)
