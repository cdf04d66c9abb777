"""A source, its connector and the syncs of its topic in any order: what lands is what the source has, and no row ever goes back."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from incremental_assets.adapters.topics import completing
from incremental_assets.core.captures.topic import ranges
from incremental_assets.core.errors import SourceRefused
from tests.adapters.topics.broker import envelope
from tests.adapters.topics.shop import Shop
from tests.fakes import Killed

WORD = "__debezium_unavailable_value"
KEYS = 6


@dataclass
class Played:
    """One course of events, by the numbers of a seed."""

    choose: random.Random
    shop: Shop = field(default_factory=Shop)
    rows: dict[int, str] = field(default_factory=dict)
    log: list[tuple[Any, Any]] = field(default_factory=list)
    """What the connector sends for the source's log: key and value of each record, in the order of the commits."""
    sent: int = 0
    first: int = 0
    """Where it began to send, behind what its snapshot shows."""
    lsn: int = 100
    at: dict[Any, Any] = field(default_factory=dict)
    """The place in the log that each row of the copy shows, or showed last."""

    def change(self) -> None:
        """Some transactions at once: each writes its rows where the log is, and they commit in another order."""
        free, written = [*range(KEYS)], []
        for _ in range(self.choose.randint(1, 3)):
            mine = [
                free.pop(self.choose.randrange(len(free))) for _ in range(min(len(free), self.choose.randint(1, 2)))
            ]
            written.append([self._write(key) for key in mine])
        if self.choose.random() < 0.04:
            self.lsn += 10
            self.rows.clear()
            written.append([[(None, envelope("t", None, self.lsn))]])
        else:
            self.choose.shuffle(written)
        for transaction in written:
            self.lsn += 10
            for records in transaction:
                for _, value in records:
                    if value is not None:
                        # The time of the commit, which grows with each.
                        value["source"]["ts_ms"] = 1_795_417_000_000 + self.lsn
                self.log += records

    def begin(self) -> None:
        """The first snapshot of the connector, at a commit; what was open then it sends from there on."""
        for _ in range(self.choose.randint(0, 4)):
            self.change()
        commits = [value["source"]["ts_ms"] for _, value in self.log if value is not None]
        if not commits:
            return
        seen = self.choose.choice(commits)
        self.sent = self.first = sum(value is None or value["source"]["ts_ms"] <= seen for _, value in self.log)
        rows: dict[int, str] = {}
        for key, value in self.log[: self.sent]:
            if value is not None and value["op"] == "t":
                rows.clear()
            elif value is not None and value["op"] == "d":
                del rows[key["id"]]
            elif value is not None and value["after"]["status"] != WORD:
                rows[key["id"]] = value["after"]["status"]
        self._read(rows, seen - 1_795_417_000_000, ts_ms=seen + 1)

    def chunk(self) -> None:
        """Some rows as they are now, among what the connector sends: it may not have sent yet what they show."""
        told = [value["source"]["lsn"] for _, value in self.log[: self.sent] if value is not None]
        if told:
            some = {key: at for key, at in self.rows.items() if self.choose.random() < 0.5}
            self._read(some, told[-1], ts_ms=1_795_417_000_000 + self.lsn, snapshot="incremental")

    def _read(self, rows: dict[int, str], lsn: int, **source: Any) -> None:
        topic = self.shop.topic
        for key, status in rows.items():
            row = {"id": key, "status": status}
            topic.put({"id": key}, envelope("r", row, lsn, **source), key % len(topic.partitions))

    def _write(self, key: int) -> list[tuple[Any, Any]]:
        self.lsn += 10
        named = {"id": key}
        if key not in self.rows or self.choose.random() < 0.7:
            op = "u" if key in self.rows else "c"
            if op == "u" and self.choose.random() < 0.3:
                return [(named, envelope("u", named | {"status": WORD}, self.lsn))]
            self.rows[key] = f"at {self.lsn}"
            return [(named, envelope(op, named | {"status": self.rows[key]}, self.lsn))]
        del self.rows[key]
        return [(named, envelope("d", named | {"status": None}, self.lsn)), (named, None)]

    def send(self, most: int) -> None:
        """The connector goes on; a key has its partition, and a record without one any."""
        topic = self.shop.topic
        for key, value in self.log[self.sent : self.sent + most]:
            number = key["id"] if key else self.choose.randrange(len(topic.partitions))
            topic.put(key, value, number % len(topic.partitions))
        self.sent = min(len(self.log), self.sent + most)

    def restart(self) -> None:
        """It begins again with what it had sent before it last wrote down where it was."""
        self.sent = max(self.first, self.sent - self.choose.randint(0, 12))
        if self.sent < len(self.log) and self.log[self.sent][1] is None:
            # A delete and its tombstone are one event.
            self.sent -= 1

    def sync(self) -> None:
        process = self.shop.world.process()
        if self.choose.random() < 0.2:
            process.kill_at = self.choose.randint(0, 40)
        try:
            self.shop.sync(process, allow_shrink=True)
        except (Killed, SourceRefused):
            return
        shown = {row["id"]: row["_log_position"] for row in self.shop.world.rows(self.shop.spec.id)}
        # What a snapshot has read of a row that no change was known of is at no place.
        back = {key: (self.at[key], at) for key, at in shown.items() if 0 < at < self.at.get(key, 0)}
        assert back == {}, "a row shows what it was before"
        deleted = self.deleted()
        assert {key: at for key, at in shown.items() if at < deleted.get(key, 0)} == {}, (
            "a row is there after its delete was read"
        )
        self.at |= {key: at for key, at in shown.items() if at}
        lost = {key for key, at in self.last().items() if at and key not in shown and at > self.shop.at().log.emptied}
        assert lost == set(), "a row is not there of which the last change that was read is no delete"

    def deleted(self) -> dict[Any, int]:
        """The place in the log of the last delete of each row, of those that were read."""
        found: dict[Any, int] = {}
        for records, end in zip(self.shop.topic.partitions, self.shop.at().next, strict=False):
            for record in records[:end]:
                told = json.loads(record.value) if record and record.value else {}
                if told.get("op") == "d":
                    key, at = told["before"]["id"], told["source"]["lsn"]
                    found[key] = max(at, found.get(key, 0))
        return found

    def last(self) -> dict[Any, int]:
        """The place in the log of the last change of each row, of those that were read; 0 of a delete."""
        found: dict[Any, tuple[int, int]] = {}
        for records, end in zip(self.shop.topic.partitions, self.shop.at().next, strict=False):
            for record in records[:end]:
                told = json.loads(record.value) if record and record.value else {}
                if told.get("op") in ("c", "u", "d"):
                    key, at = (told["before"] or told["after"])["id"], told["source"]["lsn"]
                    found[key] = max((at, at if told["op"] != "d" else 0), found.get(key, (0, 0)))
        return {key: at for key, (_, at) in found.items()}

    def step(self) -> None:
        """Anything that may happen next."""
        drawn = self.choose.random()
        if drawn < 0.35:
            self.change()
        elif drawn < 0.7:
            self.send(self.choose.randint(1, 6))
        elif drawn < 0.76:
            self.restart()
        elif drawn < 0.78:
            self.shop.topic.mark()
        elif drawn < 0.8:
            self.chunk()
        else:
            self.sync()

    def end(self) -> None:
        """The connector comes to the end of the log, and syncs to that of the topic."""
        self.send(len(self.log))
        while self.shop.world.checkpoints.position(self.shop.spec.id).state is None or (
            self.shop.at().next != self.shop.topic.ends
        ):
            self.sync()


def play(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few records at once, so that a sync ends anywhere."""
    played = Played(random.Random(seed))
    monkeypatch.setattr(ranges, "MOST", played.choose.choice([2, 5, 10_000]))
    for _ in range(played.choose.randint(0, 2)):
        played.shop.topic.add_partition()
    played.begin()
    for _ in range(60):
        played.step()
    played.end()
    assert played.shop.copy() == played.rows, seed


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "first", [0, 20, *(pytest.param(each, marks=pytest.mark.acceptance) for each in range(40, 200, 20))]
)
def test_a_copy_is_what_the_source_has_and_no_row_goes_back(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(first, first + 20):
        play(seed, monkeypatch)


def test_a_variant_that_takes_what_comes_for_newer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completing, "_held", lambda *_: {})
    with pytest.raises(AssertionError):
        test_a_copy_is_what_the_source_has_and_no_row_goes_back(0, monkeypatch)
