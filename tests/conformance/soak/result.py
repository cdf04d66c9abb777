"""What a soak came to, as `docs/soak.json` keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field

SEED = 20_240_131


@dataclass
class Told:
    """One table: what was lost of it, and what its runs had said."""

    expected: str
    rows: int = 0
    runs: dict[str, int] = field(default_factory=dict)
    """Landed and idle runs by the guarantee that they stated."""
    lost_settled: int = 0
    """Rows that the source has and the copy lacks, although a run that said `settled` moved the watermark over them."""
    lost_otherwise: int = 0
    """The same, where every run that passed them said that it could not promise them."""
    doubled: int = 0


@dataclass
class Result:
    """The whole soak. It holds if `faults` is empty."""

    minutes: float = 0.0
    transactions: int = 0
    """Of pgbench alone; the other writers are counted by their rows."""
    kills: int = 0
    attacks: int = 0
    """On an engine, by another user of the machine."""
    clock_steps: list[int] = field(default_factory=list)
    """Seconds by which the source's clock was put back or forward, in order."""
    syncs: int = 0
    rows_read: int = 0
    rows_read_twice: int = 0
    rows_late: int = 0
    looks: int = 0
    pooled: int = 0
    """Of the processes, those that came through a pooler in transaction mode, by a role that an application shares."""
    most_sessions: int = 0
    """That the server showed of the sync at once, where it came without a pooler."""
    tables: dict[str, Told] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    seed: int = SEED

    @property
    def lost_settled(self) -> int:
        """Rows lost under `settled`, of all tables."""
        return sum(table.lost_settled for table in self.tables.values())

    @property
    def lost_otherwise(self) -> int:
        """Rows lost under a weaker guarantee, which their runs had stated."""
        return sum(table.lost_otherwise for table in self.tables.values())

    @property
    def doubled(self) -> int:
        """Rows that a copy holds more than once."""
        return sum(table.doubled for table in self.tables.values())
