"""The steady load: lives that go on a step per transaction, by pgbench."""

from __future__ import annotations

import subprocess

from tests.conformance.soak.line import program
from tests.conformance.soak.result import SEED
from tests.shop import Shop

ROWS = 20_000
MAKE = (f"INSERT INTO lives SELECT n, 0, now() FROM generate_series(1, {ROWS}) n",)
# One step of one life; one transaction in fifty takes its time between stamp and commit, one in fifty is undone.
_STEP = f"""
\\set life random(1, {ROWS})
\\set fate random(1, 50)
BEGIN;
WITH stepped AS (
  UPDATE lives SET step = step + 1, updated_at = now() WHERE id = :life RETURNING id, step
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


def pgbench(shop: Shop, seconds: int) -> subprocess.Popen[str]:
    """Four clients, some 30 steps a second in all: the machine is for the syncs."""
    script = shop.folder / "step.sql"
    script.write_text(_STEP)
    arguments = [
        "-n",
        "-c",
        "4",
        "-j",
        "2",
        "-R",
        "30",
        "-T",
        str(seconds),
        "-f",
        str(script),
        "--random-seed",
        str(SEED),
    ]
    return subprocess.Popen(
        [str(program("pgbench")), *arguments, shop.postgres.dsn(shop.database)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processed(out: str) -> int:
    """Transactions of one run, as pgbench tells them."""
    line = next((line for line in out.splitlines() if "actually processed" in line), ":0/")
    return int(line.split(":")[1].split("/")[0])
