"""A folder and the syncs of its files in any order: what lands is what the files of the ledger hold, each row once and no older one in place of a newer."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.files import ledger, listing
from incremental_assets.adapters.files.ledger import PATH, SIZE, TAG, Ledger
from incremental_assets.adapters.files.pattern import tag_of
from incremental_assets.adapters.files.ranking import Ranking
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.dropped_file import Changed
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import TABLE, Drop, files
from tests.fakes import Killed

COLUMNS = {"id": "bigint", "status": "string", "at": "bigint"}
EACH_ROW = files(columns=COLUMNS), Strategy.APPEND
BY_FILE = files(columns=COLUMNS, changed=Changed.AGAIN), Strategy.UPSERT
BY_PATH = files(columns=COLUMNS, key=("id",)), Strategy.UPSERT
BY_ORDER = files(columns=COLUMNS, key=("id",), order="at"), Strategy.UPSERT
Row = tuple[int, str, int | None]


@dataclass
class Played:
    """One course of events, by the numbers of a seed."""

    home: Path
    choose: random.Random
    files: Files
    strategy: Strategy
    contents: dict[tuple[str, int, str], list[Row]] = field(default_factory=dict)
    """What each file held, by path, size and tag."""
    written: int = 0

    def __post_init__(self) -> None:
        self.drop = Drop(self.home, self.files, self.strategy)

    def put(self) -> None:
        """A new file, anywhere among the others, or another one under a name that is there."""
        replaces = self.files.changed is Changed.AGAIN and self.choose.random() < 0.4
        there = sorted(path.name for path in self.drop.folder.iterdir())
        name = self.choose.choice(there) if replaces and there else f"{self.choose.randint(0, 10**6):06}.csv"
        if replaces or name not in there:
            self.write(name)

    def write(self, name: str) -> None:
        rows = [self.row() for _ in range(self.choose.randint(0, 4))]
        text = "".join(f"{key},{status},{'' if at is None else at}\n" for key, status, at in rows)
        path = self.drop.put(name, f"id,status,at\n{text}")
        there = path.stat()
        self.contents[name, there.st_size, tag_of(there.st_ino, there.st_mtime_ns)] = rows

    def row(self) -> Row:
        self.written += 1
        at = self.choose.choice([None, *range(5)])
        return self.choose.randint(0, 5), f"row {self.written}", at

    def remove(self) -> None:
        """A file that has landed is not needed any more; one that has not is lost for good."""
        landed = {path for path, _, _ in self.ledger()}
        there = sorted(path.name for path in self.drop.folder.iterdir() if path.name in landed)
        if there:
            (self.drop.folder / self.choose.choice(there)).unlink()

    def ledger(self) -> list[tuple[str, int, str]]:
        if self.drop.world.checkpoints.position(TABLE).state is None:
            return []
        rows = Ledger(str(self.drop.ledger), TABLE).rows(self.drop.at().pages)
        found: dict[str, tuple[str, int, str]] = {}
        for each in zip(*(rows.column(name).to_pylist() for name in (PATH, SIZE, TAG)), strict=True):
            found.setdefault(each[0], each)
        return sorted(found.values())

    def sync(self) -> None:
        process = self.drop.world.process()
        drawn = self.choose.random()
        if drawn < 0.25:
            process.kill_at = self.choose.randint(0, 40)
        elif drawn < 0.35:
            process.at["before snapshot"] = self.remove
        elif drawn < 0.45 and self.files.changed is Changed.AGAIN:
            process.at["before snapshot"] = self.put
        try:
            self.drop.sync(process)
        except (Killed, SourceRefused):
            return
        self.check()

    def check(self) -> None:
        """The copy is what the files of the ledger held when they landed."""
        rows = [
            (path, number, row)
            for path, size, tag in self.ledger()
            for number, row in enumerate(self.contents[path, size, tag], 1)
        ]
        if self.files.key:
            newest: dict[int, Any] = {}
            for path, number, row in rows:
                at = row[2] if self.files.order else None
                rank = (-1 if at is None else at, path, number)
                newest[row[0]] = max(newest.get(row[0], (rank, row)), (rank, row))
            rows = sorted((rank[1], rank[2], row) for rank, row in newest.values())
        found = [(row["_file"], row["_file_row"], (row["id"], row["status"], row["at"])) for row in self.drop.rows()]
        assert found == rows

    def step(self) -> None:
        """Anything that may happen next."""
        drawn = self.choose.random()
        if drawn < 0.5:
            self.put()
        elif drawn < 0.6:
            self.remove()
        else:
            self.sync()

    def end(self) -> None:
        """Everything that is there has landed."""
        self.drop.sync()
        while self.drop.sync().status != "idle":
            pass
        self.check()
        landed = {path for path, _, _ in self.ledger()}
        assert {path.name for path in self.drop.folder.iterdir()} <= landed


def play(home: Path, seed: int, kind: tuple[Files, Strategy], monkeypatch: pytest.MonkeyPatch) -> None:
    """With few files at once and pages that are soon one, so that a sync ends anywhere."""
    home.mkdir()
    choose = random.Random(seed)
    monkeypatch.setattr(listing, "MOST_FILES", choose.choice([1, 2, 100]))
    monkeypatch.setattr(ledger, "_TIMES", choose.choice([0, 1, 4]))
    played = Played(home, choose, *kind)
    for _ in range(40):
        played.step()
    played.end()
    if kind is BY_ORDER and seed % 2:
        played.drop.sync(mode=Mode.FULL_REFRESH)


def play_many(home: Path, seeds: range, kind: tuple[Files, Strategy], monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        play(home / str(seed), seed, kind, monkeypatch)


KINDS = pytest.mark.parametrize(
    "kind", [EACH_ROW, BY_FILE, BY_PATH, BY_ORDER], ids=["each row", "by file", "by path", "by order"]
)


@KINDS
@pytest.mark.parametrize("first", [0, *(pytest.param(each, marks=pytest.mark.acceptance) for each in range(3, 48, 3))])
def test_a_copy_is_what_its_files_held(
    first: int, kind: tuple[Files, Strategy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_many(tmp_path, range(first, first + 3), kind, monkeypatch)


@pytest.mark.parametrize("variant", ["newer", "ledger", "replaced"])
def test_a_variant_is_found(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = BY_ORDER
    if variant == "newer":
        monkeypatch.setattr(Ranking, "_newer_than", lambda self, rows, *_: rows)
    elif variant == "ledger":
        # What an earlier page says of a path counts.
        kind = BY_FILE
        monkeypatch.setattr(ledger, "reversed", lambda pages: pages, raising=False)
        monkeypatch.setattr(ledger, "_latest", lambda rows: rows)
    else:
        kind, against = BY_FILE, Ranking.against
        monkeypatch.setattr(
            Ranking, "against", lambda self, rows, copy, replaced, **more: against(self, rows, copy, (), **more)
        )
    with pytest.raises(AssertionError):
        play_many(tmp_path, range(10), kind, monkeypatch)
