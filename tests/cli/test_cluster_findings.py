"""What `doctor` says of the executors of a cluster."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.adapters.spark.executors import Executor
from incremental_assets.cli.findings.finding import Health
from incremental_assets.cli.findings.of_cluster import of_executors

GOOD = Executor("one", "3.11.7", "0.2.0", 0.0)
LAKE = "/mnt/lake"


def told(*found: Executor, lake: str = LAKE) -> list[tuple[str, str, Health, str]]:
    return [(each.subject, each.topic, each.health, each.detail) for each in of_executors(found, "0.2.0", lake)]


def test_executors_that_lack_nothing_are_ok() -> None:
    assert told(GOOD, replace(GOOD, host="two")) == [
        (
            "cluster",
            "python",
            Health.OK,
            "2 executors on 2 machines run Python 3.11.7 with incremental-assets 0.2.0, so that tasks do the work",
        ),
        ("cluster", "clock", Health.OK, "their clocks are within 5 s of this machine's"),
        ("cluster", "lake", Health.OK, "they reach /mnt/lake as this machine does"),
    ]


def test_what_is_sent_to_executors_that_lack_it_is_ok_and_said() -> None:
    python, *_ = told(replace(GOOD, sent=("duckdb", "incremental-assets")))
    assert python[2:] == (
        Health.OK,
        "1 executor on 1 machine runs Python 3.11.7; what tasks import and they lack is sent to them in each session (2 packages), so that tasks do the work",
    )


def test_one_that_lacks_this_package_is_named_and_stops_nothing() -> None:
    python, *_ = told(GOOD, replace(GOOD, host="two", package=None))
    assert python[2] is Health.WARN
    assert python[3].startswith("1 executor on two runs Python 3.11.7 without this package")


def test_one_with_another_version_of_it_is_named() -> None:
    python, *_ = told(GOOD, replace(GOOD, host="two", package="0.1.0"))
    assert python[2:] == (Health.FAIL, "1 executor on two has incremental-assets 0.1.0, and this machine 0.2.0")


def test_a_clock_that_differs_is_named() -> None:
    clock = told(GOOD, replace(GOOD, host="two", seconds_off=3_700.4))[1]
    assert clock[2] is Health.WARN
    assert clock[3].startswith("the clock of two differs from this machine's by 3,700 s")


def test_a_lake_that_one_does_not_reach_is_named() -> None:
    lake = told(GOOD, replace(GOOD, host="two", lake="No such file or directory"))[2]
    assert lake[2:] == (
        Health.FAIL,
        "1 executor on two cannot read and write /mnt/lake as this machine does (No such file or directory)",
    )


def test_a_lake_that_only_spark_reaches_is_left_out() -> None:
    assert [topic for _, topic, *_ in told(GOOD, lake="")] == ["python", "clock"]


def test_a_database_that_one_does_not_reach_is_named() -> None:
    found = told(GOOD, replace(GOOD, host="two", unreached=(("shop", "db:5432: Connection refused"),)))[-1]
    assert found == (
        "shop",
        "executors",
        Health.FAIL,
        "1 executor on two cannot reach it (db:5432: Connection refused), and executors read it",
    )
