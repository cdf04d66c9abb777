"""How runs find the engine: one small file in a private folder, as it contains the token."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.errors import SetupError

_FILE = "engine.json"


@dataclass(frozen=True, slots=True)
class Announced:
    """One engine: its process, where it answers, to whom, and what it was made from."""

    process: ProcessIdentity
    port: int
    token: str = field(repr=False)
    made_from: str
    """A hash of Java, Spark, jars and settings; a run with another one has other needs."""
    spark: str
    memory: str
    since: datetime
    log: str
    keeper: str = ""
    """Another process that ends it when it ends itself, as `ProcessIdentity` writes it; empty for an engine that stays."""
    idle: float = 0.0
    """Seconds without use after which its keeper ends it; 0 for an engine that does not end by itself. It is kept."""

    @property
    def address(self) -> str:
        """The address as Spark Connect writes it, without the token."""
        return f"sc://127.0.0.1:{self.port}"

    @property
    def patience(self) -> timedelta:
        """`idle` as a duration."""
        return timedelta(seconds=self.idle)

    def is_same(self, other: Announced | None) -> bool:
        """Whether both are of one engine; what is to become of it may have changed."""
        return other is not None and (self.process, self.token) == (other.process, other.token)

    @property
    def is_gone(self) -> bool:
        """Whether its process has ended: with the machine, too, and a later one of the same number is another one."""
        return self.process.is_gone or self.process.machine != ProcessIdentity.here().machine

    @property
    def is_left_alone(self) -> bool:
        """Whether the process that was to stop it failed to do so."""
        return bool(self.keeper) and ProcessIdentity.parse(self.keeper).is_gone


def read(folder: Path) -> Announced | None:
    """What is announced there, by an engine that may be gone; None for nothing. Raises SetupError for a file that is not ours to trust."""
    path = folder / _FILE
    try:
        with path.open(encoding="utf-8") as file:
            seen = os.fstat(file.fileno())
            text = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SetupError(
            f"the engine announced in {path} is not used: the file cannot be read ({error.strerror})"
        ) from None
    # The author of this file receives the passwords of the sources.
    if seen.st_uid != os.geteuid() or seen.st_mode & 0o077:
        raise SetupError(
            f"the engine announced in {path} is not used: the file belongs to another user, or others may read it; remove it and start an engine of your own"
        )
    try:
        kept = json.loads(text)
        process, since = ProcessIdentity.parse(kept.pop("process")), datetime.fromisoformat(kept.pop("since"))
        return Announced(process=process, since=since, **kept)
    except (ValueError, KeyError, TypeError):
        raise SetupError(
            f"the engine announced in {path} is not used: another release wrote the file; end that engine, and remove it"
        ) from None


def write(folder: Path, engine: Announced) -> None:
    """Whole or not at all, for this user alone."""
    fields = asdict(engine) | {"process": engine.process.text, "since": engine.since.isoformat()}
    unfinished = folder / f".{_FILE}.{os.getpid()}"
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(fields, file)
    unfinished.replace(folder / _FILE)


def withdraw(folder: Path) -> None:
    """Withdraw the record: no run finds the server any more, and runs that use it know why they fail."""
    (folder / _FILE).unlink(missing_ok=True)


def is_kept(folder: Path, engine: Announced) -> bool:
    """Whether this very engine is there, and still to end when it is not used."""
    try:
        found = read(folder)
    except SetupError:
        return False
    return found is not None and bool(found.idle) and found.keeper == engine.keeper and is_announced(folder, engine)


def is_announced(folder: Path, engine: Announced) -> bool:
    """Whether this very engine is there, and meant to be."""
    try:
        return not engine.is_gone and engine.is_same(read(folder))
    except SetupError:
        return False
