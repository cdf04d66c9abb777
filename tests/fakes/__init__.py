"""Fakes with state, one per port, and the world that they share. They follow the semantics of the real things, oddities included."""

from tests.fakes.checkpoints import FakeCheckpoints, FakeLease, Memory
from tests.fakes.database import Locked, SimulatedDatabase, Statement, Transaction
from tests.fakes.delta_table import DeltaTable
from tests.fakes.lake import FakeLake
from tests.fakes.rows import Row, digest, ordered
from tests.fakes.source import FakeProbe, FakeSnapshot, FakeSource
from tests.fakes.stage import FakeStage
from tests.fakes.world import Killed, Process, Sleeper, World

__all__ = [
    "DeltaTable",
    "FakeCheckpoints",
    "FakeLake",
    "FakeLease",
    "FakeProbe",
    "FakeSnapshot",
    "FakeSource",
    "FakeStage",
    "Killed",
    "Locked",
    "Memory",
    "Process",
    "Row",
    "SimulatedDatabase",
    "Sleeper",
    "Statement",
    "Transaction",
    "World",
    "digest",
    "ordered",
]
