"""Tables that are read from PostgreSQL's log live under writers while syncs are killed: `make soak ARGS=--log`, or `python -m tests.conformance.soak.by_log MINUTES FILE`.

Writers move money between accounts, others hold transactions open for minutes, and in the end commit them or not. After each kill the copies are looked at: each is the
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
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.opening import SETTINGS
from tests.adapters.logs.shelved import LoggedShop
from tests.conformance.accounts import ACCOUNTS, TRANSFERS, Ledger
from tests.conformance.sections import renew_soak
from tests.conformance.soak.copy import ask
from tests.conformance.soak.result import SEED
from tests.conformance.stand import plain
from tests.shop import PASSWORD

_LOG = logging.getLogger("soak")
ROOT = Path(__file__).parents[3]
HELD = "held (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner int, n int, note text)"
"""What long transactions write: values that are too long to lie in their rows, and updates that leave them as they are."""
TABLES = {"accounts": "id, money, done", "transfers": "writer, number, what", "held": "id, owner, n, note"}
WRITERS, HOLDERS = 8, 2
LIFETIME, OPEN = (5.0, 45.0), (20.0, 150.0)
"""Seconds that a syncing process lives, and that a long transaction is open."""


@dataclass
class Found:
    """As `docs/soak-log.json` keeps it; the soak holds if `faults` is empty."""

    minutes: float = 0.0
    transactions: int = 0
    long_transactions: int = 0
    undone: int = 0
    """Of the long ones."""
    kills: int = 0
    looks: int = 0
    syncs: int = 0
    """That landed something."""
    rows: int = 0
    faults: list[str] = field(default_factory=list)
    seed: int = SEED


def main(minutes: float, result_file: Path) -> int:
    """Exit status 1 when a copy was told wrongly."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    os.environ["SHOP_PASSWORD"] = PASSWORD
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        server = EmbeddedPostgres(Path(folder, "server"), settings=SETTINGS).start()
        try:
            server.create_database("shop")
            none: Any = None
            shop = LoggedShop.open(server, "shop", Path(folder), none, ACCOUNTS, TRANSFERS, HELD)
            found = _soaked(shop, minutes)
        finally:
            server.remove()
    result_file.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    report = result_file.with_name("conformance.md")
    if report.is_file():
        renew_soak(report)
    _LOG.info("%s", asdict(found))
    return 1 if found.faults else 0


def _soaked(shop: LoggedShop, minutes: float) -> Found:
    found, begun, stop = Found(), time.monotonic(), threading.Event()
    chance, seen = random.Random(SEED), dict.fromkeys(("accounts", "transfers"), 0)
    with Ledger.written_by(shop, WRITERS) as ledger:
        holders = [threading.Thread(target=_hold, args=(shop, number, stop, found)) for number in range(HOLDERS)]
        for holder in holders:
            holder.start()
        while time.monotonic() - begun < minutes * 60:
            _live_and_die(shop, chance)
            found.kills += 1
            _look(ledger, seen, found)
            _LOG.info("%d kills, %s transactions landed, %d faults", found.kills, seen, len(found.faults))
        stop.set()
        for holder in holders:
            holder.join()
    found.minutes, found.transactions = round((time.monotonic() - begun) / 60, 1), ledger.done()
    _judge(shop, found)
    return found


def _live_and_die(shop: LoggedShop, chance: random.Random) -> None:
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


def _hold(shop: LoggedShop, number: int, stop: threading.Event, found: Found) -> None:
    """One long transaction after the other, each with savepoints, of which a part is undone."""
    chance = random.Random(f"{SEED} {number}")
    with shop.stand.shop.connect() as connection:
        while not stop.is_set():
            until = time.monotonic() + chance.uniform(*OPEN)
            while time.monotonic() < until and not stop.wait(1):
                connection.execute(
                    "INSERT INTO held (owner, n, note) SELECT %s, 0, string_agg(md5(random()::text), '') FROM generate_series(1, 200)",
                    [number],
                )
                connection.execute("SAVEPOINT here")
                # Rows of its own, so that no holder waits for another one.
                connection.execute("UPDATE held SET n = n + 1 WHERE id %% 7 = 0 AND owner = %s", [number])
                if chance.random() < 0.3:
                    connection.execute("ROLLBACK TO here")
            found.long_transactions += 1
            if chance.random() < 0.2:
                found.undone += 1
                connection.rollback()
            else:
                connection.commit()


def _judge(shop: LoggedShop, found: Found) -> None:
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
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2])))
