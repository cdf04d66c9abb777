"""Tables that are read from a log live under writers while syncs are killed: `make soak ARGS=--log`, or `--binlog`, or `python -m tests.conformance.soak.by_log MINUTES FILE LOG`.

Writers move money between accounts, others hold transactions open for minutes, and in the end commit them or not; a table is altered. After each kill the copies are looked at: each is the
table at one place of the log, and none goes back. At the end they equal the source, row by row.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.adapters.logs.log_shop import LogShop
from tests.conformance.accounts import Ledger
from tests.conformance.sections import renew_soak
from tests.conformance.soak.copy import ask
from tests.conformance.soak.logs import LOGS, Log
from tests.conformance.soak.result import SEED
from tests.conformance.stand import plain
from tests.shop import PASSWORD

_LOG = logging.getLogger("soak")
ROOT = Path(__file__).parents[3]
TABLES = {"accounts": "id, money, done", "transfers": "writer, number, what", "held": "id, owner, n, note"}
"""What long transactions write is `held`: values that are too long to lie in their rows, and updates that leave them as they are."""
WRITERS, HOLDERS = 8, 2
LIFETIME, OPEN = (5.0, 45.0), (20.0, 150.0)
"""Seconds that a syncing process lives, and that a long transaction is open."""
ALTERED = 4
"""After every so many-th kill a table is altered so that it stops, and is loaded again."""


@dataclass
class Found:
    """As `docs/soak-log.json` keeps it, or `docs/soak-binlog.json`; the soak holds if `faults` is empty."""

    minutes: float = 0.0
    transactions: int = 0
    long_transactions: int = 0
    undone: int = 0
    """Of the long ones."""
    definitions: int = 0
    """Statements that leave rows as they are, and others."""
    altered: int = 0
    """Of these stopped a table, which was loaded again."""
    kills: int = 0
    looks: int = 0
    syncs: int = 0
    """That landed something."""
    rows: int = 0
    faults: list[str] = field(default_factory=list)
    seed: int = SEED


def main(minutes: float, result_file: Path, log: Log) -> int:
    """Exit status 1 when a copy was told wrongly."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    os.environ["SHOP_PASSWORD"] = PASSWORD
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, log.open(Path(folder)) as shop:
        found = _soaked(shop, log, minutes)
    result_file.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    report = result_file.with_name("conformance.md")
    if report.is_file():
        renew_soak(report)
    _LOG.info("%s", asdict(found))
    return 1 if found.faults else 0


def _soaked(shop: LogShop[Any], log: Log, minutes: float) -> Found:
    found, begun, stop = Found(), time.monotonic(), threading.Event()
    chance, seen = random.Random(SEED), dict.fromkeys(("accounts", "transfers"), 0)
    with Ledger.written_by(shop, WRITERS) as ledger:
        others = [threading.Thread(target=_hold, args=(shop, log, number, stop, found)) for number in range(HOLDERS)]
        others.append(threading.Thread(target=_define, args=(shop, log, stop, found)))
        for each in others:
            each.start()
        while time.monotonic() - begun < minutes * 60:
            _live_and_die(shop, chance)
            found.kills += 1
            _look(ledger, seen, found)
            if found.kills % ALTERED == 0:
                _alter(shop, log, found)
                _look(ledger, seen, found)
            _LOG.info("%d kills, %s transactions landed, %d faults", found.kills, seen, len(found.faults))
        stop.set()
        for each in others:
            each.join()
    found.minutes, found.transactions = round((time.monotonic() - begun) / 60, 1), ledger.done()
    _judge(shop, found)
    return found


def _define(shop: LogShop[Any], log: Log, stop: threading.Event, found: Found) -> None:
    """One statement after the other that leaves rows as they are."""
    while not stop.is_set():
        for statement in log.harmless:
            found.definitions += _defined(shop, log, statement)
            stop.wait(3)


def _alter(shop: LogShop[Any], log: Log, found: Found) -> None:
    """The table stops until somebody loads it."""
    if not _defined(shop, log, log.altering):
        return
    found.definitions += 1
    table = f"shop.{shop.stand.shop.schema}.transfers"
    stopped = shop.stand.shop.run("sync", "--select", table, "--json")
    if stopped.returncode == 0 or "--full-refresh" not in stopped.stdout:
        found.faults.append(
            f"a sync of a table that was altered ended with {stopped.returncode}: {stopped.stdout[-500:]}"
        )
    loaded = shop.stand.shop.run("sync", "--select", table, "--full-refresh", "--json")
    if loaded.returncode:
        found.faults.append(f"a load ended with {loaded.returncode}: {loaded.stdout[-500:]}{loaded.stderr[-500:]}")
    found.altered += 1


def _defined(shop: LogShop[Any], log: Log, statement: str) -> bool:
    """Whether it got the lock."""
    with closing(shop.writing()) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(log.patience)
        try:
            cursor.execute(statement)
        except Exception as error:
            if "lock" in str(error).lower():
                return False
            raise
        connection.commit()
    return True


def _live_and_die(shop: LogShop[Any], chance: random.Random) -> None:
    """A process that syncs without a pause, until kill -9 of it and of all that it has started."""
    config = str(shop.stand.shop.config)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.conformance.syncing", config],
        cwd=ROOT,
        env=shop.stand.shop.environment,
        start_new_session=True,
    )
    time.sleep(chance.uniform(*LIFETIME))
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _look(ledger: Ledger, seen: dict[str, int], found: Found) -> None:
    for name, before in seen.items():
        try:
            if ask(ledger.shop.stand.shop.lake(name), "SELECT count(*) FROM copy"):
                seen[name] = ledger.assert_consistent(name, before)
        except AssertionError as error:
            found.faults.append(f"{name}: {error}")
    found.looks += 1


def _hold(shop: LogShop[Any], log: Log, number: int, stop: threading.Event, found: Found) -> None:
    """One long transaction after the other, each with savepoints, of which a part is undone."""
    chance = random.Random(f"{SEED} {number}")
    with closing(shop.writing()) as connection:
        cursor = connection.cursor()
        while not stop.is_set():
            until = time.monotonic() + chance.uniform(*OPEN)
            while time.monotonic() < until and not stop.wait(1):
                cursor.execute(log.put, [number])
                cursor.execute("SAVEPOINT here")
                # Rows of its own, so that no holder waits for another one.
                cursor.execute("UPDATE held SET n = n + 1 WHERE id %% 7 = 0 AND owner = %s", [number])
                if chance.random() < 0.3:
                    cursor.execute("ROLLBACK TO here")
            found.long_transactions += 1
            if chance.random() < 0.2:
                found.undone += 1
                connection.rollback()
            else:
                connection.commit()


def _judge(shop: LogShop[Any], found: Found) -> None:
    """One more sync; then every copy equals its table."""
    ended = shop.stand.shop.run("sync", "--json")
    if ended.returncode:
        found.faults.append(f"the last sync ended with {ended.returncode}: {ended.stderr[-500:]}")
    for name, columns in TABLES.items():
        truth = Counter(shop.stand.source(f"SELECT {columns} FROM {name}"))
        copy = Counter(tuple(map(plain, row)) for row in ask(shop.stand.shop.lake(name), f"SELECT {columns} FROM copy"))
        found.rows += sum(truth.values())
        if lost := truth - copy:
            found.faults.append(f"{name}: {sum(lost.values())} rows of the source are not in the copy: {[*lost][:3]}")
        if more := copy - truth:
            found.faults.append(f"{name}: {sum(more.values())} rows of the copy are not in the source: {[*more][:3]}")
    found.syncs = sum(event == "landed" for _, event in shop.stand.shop.events())


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2]), LOGS[sys.argv[3]]))
