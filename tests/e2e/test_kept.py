"""`spark: {keep: …}`: the first run leaves an engine behind, the next one finds it, and nobody has to end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

from tests.e2e.watched import Watched, life_goes_on
from tests.shop import THREE_STRATEGIES, Shop, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(600)]


def keep(shop: Shop, duration: str) -> None:
    shop.configure(THREE_STRATEGIES, "unlisted: ignore")
    shop.config.write_text(f"spark: {{keep: {duration}}}\n{shop.config.read_text()}")


def test_the_next_run_finds_what_the_first_one_has_left_and_it_ends_by_itself(
    watched: Watched, spark: SparkSession
) -> None:
    shop = watched.shop
    # Without the key nothing stays.
    done, jvm = watched.sync()
    assert (done.returncode, jvm) == (0, True), done.stderr
    assert not (shop.folder / "dagster" / "engine").exists()

    keep(shop, "10m")
    life_goes_on(shop)
    done, _ = watched.sync()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    code, first = watched.engine("status")
    assert (code, first["usable"], first["kept_seconds"]) == (0, True, 600)
    assert first["ends"] is not None
    assert "run has left it behind, and it ends at" in shop.run("doctor").stdout.replace("\n", " ")

    life_goes_on(shop)
    java = watched.process
    done, jvm = watched.sync()
    assert (done.returncode, jvm) == (0, False), done.stderr
    assert watched.process == java
    watched.assert_equal(spark)

    # In the middle of a run it dies: that run says so and goes on, the next one has another.
    life_goes_on(shop)
    before, process = len(shop.events()), shop.start("sync", "--json")
    assert wait_for(lambda: "intent" in [each for _, each in shop.events()[before:]], process)
    java.kill()
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, (out, err)
    assert f"the engine (pid {java.pid}) has ended; this run continues in its own session" in err
    assert "Traceback" not in err
    watched.assert_equal(spark)
    assert watched.engine("status") == (1, {"running": False})

    # With another duration, which ends by itself.
    keep(shop, "3s")
    life_goes_on(shop)
    done, _ = watched.sync()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    watched.assert_equal(spark)
    folder = str(shop.folder)
    left = [each for each in psutil.process_iter() if folder in " ".join(words_of(each))]
    psutil.wait_procs(left, timeout=120)
    assert [words_of(each) for each in psutil.process_iter() if folder in " ".join(words_of(each))] == []
    assert watched.engine("status") == (1, {"running": False})


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
