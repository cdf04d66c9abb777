"""Rows live under load while syncs are killed: `make soak MINUTES=30`, or `python -m tests.conformance.soak MINUTES FILE`.

Each life goes 1 -> 2 -> … a step per transaction of `pgbench`, and its steps are kept one by one in two tables that only grow; beside it
every hazard of `hazards.py` writes its own table, and the source's clock is put back and forward. A process syncs all of them without a
pause, in a session of its own or through an engine that another user attacks, and is killed at random moments. Nothing is stamped anew at
the end: what a copy lacks then was lost, and the runs that passed it say whether that was under `settled`.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from incremental_assets.core.captures.database.bound import GUARD
from tests.conformance.clock import Clock, ClockedPostgres
from tests.conformance.sections import renew_soak
from tests.conformance.soak import hazards
from tests.conformance.soak.hazards import Hazard, Writing
from tests.conformance.soak.judge import judge, look
from tests.conformance.soak.load import MAKE, pgbench, processed
from tests.conformance.soak.promises import PROMISES, SHARED
from tests.conformance.soak.result import SEED, Result
from tests.conformance.soak.sessions import CONNECTIONS, Sessions
from tests.conformance.stand import Stand
from tests.pgbouncer import PgBouncer, started
from tests.shop import PASSWORD, Shop

_LOG = logging.getLogger("soak")

HAZARDS = (*hazards.HAZARDS, *PROMISES)
ROOT = Path(__file__).parents[3]
_OPTIONS = f"unlisted: ignore\nparallel: {{connections: {CONNECTIONS}}}"
LIFETIME = (20.0, 120.0)
"""Seconds that a syncing process lives."""
STEADY, STEP, AWRY = (120.0, 300.0), (5, 60), (30.0, 90.0)
"""Seconds that the source's clock is left alone, by how many it is then put back, and after how many forward again."""
THROUGH_ENGINE = 3
"""Every so many-th process syncs through the engine."""
THROUGH_POOLER = 2
"""Every so many-th of the others syncs through the pooler."""


def main(minutes: float, result_file: Path) -> int:
    """Exit status 1 when a life was told wrongly."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    os.environ["SHOP_PASSWORD"] = PASSWORD
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        server = ClockedPostgres(folder / "server", settings={"max_connections": "100", "fsync": "off"})
        stack.callback(server.remove)
        server.start().create_database("soak")
        shop = Shop.open(server, "soak", folder, "\n".join(each.listed for each in HAZARDS), options=_OPTIONS)
        shop.execute(*(statement for hazard in HAZARDS for statement in hazard.make), *MAKE)
        stack.callback(shop.run, "engine", "stop")
        engine = json.loads(shop.run("engine", "start", "--json").stdout)
        pooler = stack.enter_context(started(server, {SHARED: PASSWORD}, pool_mode="transaction"))
        soak = Soak(shop, server.clock, pooler)
        with soak.attacked(engine["pid"]):
            soak.play(minutes)
        soak.judge()
    result_file.write_text(json.dumps(asdict(soak.result), indent=1) + "\n")
    report = result_file.with_name("conformance.md")
    if report.is_file():
        renew_soak(report)
    _LOG.info("%s", json.dumps(asdict(soak.result)))
    return 1 if soak.result.faults else 0


class Soak:
    """One database, its writers, and one process after the other that syncs it."""

    def __init__(self, shop: Shop, clock: Clock, pooler: PgBouncer) -> None:
        self.result = Result()
        self._shop, self._clock, self._chance = shop, clock, random.Random(SEED)
        self._pooler, self._sessions = pooler, Sessions(shop, self.result)
        self._desk = Stand(shop, None)  # type: ignore[arg-type] - every sync is a process of its own, and every copy is read without Spark
        self._seen: dict[int, int] = {}

    def play(self, minutes: float) -> None:
        """Load, hazards and kills, until the time is over and every writer has ended."""
        begun, stop = time.monotonic(), threading.Event()
        load = pgbench(self._shop, round(minutes * 60))
        actors = [threading.Thread(target=each, args=(stop,)) for each in (self._step_the_clock, self._sessions.watch)]
        for hazard in HAZARDS:
            for number in range(hazard.sessions if hazard.write else 0):
                chance = random.Random(f"{SEED} {hazard.table} {number}")
                writing = Writing(self._shop, stop, chance, self._pooler.port)
                actors.append(threading.Thread(target=self._write, args=(hazard, writing)))
        for actor in actors:
            actor.start()
        while time.monotonic() - begun < minutes * 60:
            self._live_and_die()
            look(self._desk, HAZARDS, self._seen, self.result)
            _LOG.info("%d kills, %d looks, %d faults", self.result.kills, self.result.looks, len(self.result.faults))
        stop.set()
        for actor in actors:
            actor.join()
        out, _ = load.communicate(timeout=120)
        self.result.transactions = processed(out)
        self.result.minutes = round((time.monotonic() - begun) / 60, 1)

    @contextmanager
    def attacked(self, engine: int) -> Iterator[None]:
        """Another user of the machine attacks the engine meanwhile; only root can become one."""
        if os.geteuid() != 0:
            yield
            return
        attacking = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.soak.attack", str(engine)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        yield
        attacking.terminate()
        attacks = [json.loads(line) for line in attacking.communicate()[0].splitlines()]
        self.result.attacks = len(attacks)
        self.result.faults += [f"the engine gave way to another user: {found}" for found in attacks if found]

    def judge(self) -> None:
        """Sync until all has settled, without a word to any row; then look at every copy and at what the runs had said."""
        for _ in range(3):
            ended = self._shop.run("sync", "--json")
            time.sleep(GUARD.total_seconds())
        if ended.returncode:
            self.result.faults.append(f"the last sync ended with {ended.returncode}: {ended.stderr[-500:]}")
        look(self._desk, HAZARDS, self._seen, self.result)
        if self.result.most_sessions > CONNECTIONS:
            self.result.faults.append(
                f"{self.result.most_sessions} sessions were open, of {CONNECTIONS} that were allowed"
            )
        for hazard in HAZARDS:
            judge(self._desk, hazard, self.result)
            self._desk.assert_tidy(hazard.table)

    def _live_and_die(self) -> None:
        through_engine = self.result.kills % THROUGH_ENGINE == 0
        through_pooler = not through_engine and self.result.kills % THROUGH_POOLER == 0
        apart = {} if through_engine else {"DAGSTER_HOME": str(self._shop.folder / "apart")}
        # What the engine's tasks have open outlives the process that had asked for them.
        if not (through_engine or through_pooler):
            self._sessions.begin()
        self.result.pooled += through_pooler
        syncing = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.syncing", str(self._configuration(pooled=through_pooler))],
            cwd=ROOT,
            env=self._shop.environment | apart,
            start_new_session=True,
        )
        # How long a process may live is the experiment; nothing is waited for.
        time.sleep(self._chance.uniform(*LIFETIME))
        self._sessions.end()
        os.killpg(syncing.pid, signal.SIGKILL)
        syncing.wait()
        self.result.kills += 1

    def _configuration(self, *, pooled: bool) -> Path:
        """The shop's own, or the same through the pooler, as the role that the application has there."""
        if not pooled:
            return self._shop.config
        text = self._shop.config.read_text()
        changed = text.replace(f"port: {self._shop.postgres.port}", f"port: {self._pooler.port}")
        changed = changed.replace("user: reader", f"user: {SHARED}")
        assert changed.count(SHARED) == 1, text
        file = self._shop.folder / "pooled.yaml"
        file.write_text(changed)
        return file

    def _step_the_clock(self, stop: threading.Event) -> None:
        while not stop.wait(self._chance.uniform(*STEADY)):
            back = self._chance.randint(*STEP)
            self._put(-back)
            before = self._looks()
            stop.wait(self._chance.uniform(*AWRY))
            # Back and forward between two looks leaves no trace: a precondition of the guarantee. Of two runs, one has looked since.
            while any(seen < before[table] + 2 for table, seen in self._looks().items()) and not stop.wait(2):
                pass
            if not stop.is_set():
                self._put(back)

    def _put(self, seconds: int) -> None:
        self._clock.step(seconds)
        self.result.clock_steps.append(seconds)

    def _looks(self) -> dict[str, int]:
        """By table, how many runs have looked at it and said so: they may have come to nothing since."""
        found = Counter(table for table, event in self._shop.events() if event in ("intent", "idle"))
        return {hazard.table: found[hazard.table] for hazard in HAZARDS}

    def _write(self, hazard: Hazard, writing: Writing) -> None:
        try:
            hazard.write(writing)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 - a writer that ended would make the soak tame
            self.result.faults.append(f"the writer of {hazard.table} ended: {error}")


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2])))
