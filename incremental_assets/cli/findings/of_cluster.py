"""The findings on the executors of a cluster: pure, from what each has said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incremental_assets.adapters.spark.executors import Executor
from incremental_assets.cli.findings.finding import Finding, Health, warn
from incremental_assets.core.model.cures import DEPLOYMENT
from incremental_assets.core.words import agreeing, counted

_SUBJECT = "cluster"
_MOST_SECONDS_OFF = 5.0
PYTHON = f"have their machines run this version of Python with incremental-assets, or have PYSPARK_PYTHON name where they do: {DEPLOYMENT}, On a Spark cluster"


def of_executors(found: Sequence[Executor], version: str, lake: str) -> Iterator[Finding]:
    """What they run, and whether clock, lake and sources are as this machine has them. `version`: of this package here; `lake`: empty where nobody was asked for it."""
    yield _python(found, version)
    yield _clock(found)
    if lake:
        yield _lake(found, lake)
    for name, why in {name: why for each in found for name, why in each.unreached}.items():
        missing = [each for each in found if any(other == name for other, _ in each.unreached)]
        yield Finding(
            name,
            "executors",
            Health.FAIL,
            f"{_hosts(missing)} cannot reach it ({why}), and executors read it",
            "let every machine of the cluster through: the server's rules, and firewalls between them",
        )


def _python(found: Sequence[Executor], version: str) -> Finding:
    versions = " and ".join(sorted({each.python for each in found}))
    lacking = [each for each in found if each.package is None]
    if lacking:
        return warn(
            _SUBJECT,
            "python",
            f"{_hosts(lacking)} {agreeing(len(lacking), 'runs', 'run')} Python {versions} without this package and cannot use what is sent to them, so that Spark itself reads and writes all rows, which takes longer",
            PYTHON,
        )
    others = [each for each in found if each.package != version]
    if others:
        theirs = ", ".join(sorted({str(each.package) for each in others}))
        return Finding(
            _SUBJECT,
            "python",
            Health.FAIL,
            f"{_hosts(others)} {agreeing(len(others), 'has', 'have')} incremental-assets {theirs}, and this machine {version}",
            f"install {version} there",
        )
    hosts = len({each.host for each in found})
    sent = max((each.sent for each in found), key=len)
    told = (
        f"; what tasks import and they lack is sent to them in each session ({counted(len(sent), 'package')})"
        if sent
        else f" with incremental-assets {version}"
    )
    return Finding(
        _SUBJECT,
        "python",
        Health.OK,
        f"{counted(len(found), 'executor')} on {counted(hosts, 'machine')} {agreeing(len(found), 'runs', 'run')} Python {versions}{told}, so that tasks do the work",
    )


def _clock(found: Sequence[Executor]) -> Finding:
    worst = max(found, key=lambda each: each.seconds_off)
    if worst.seconds_off <= _MOST_SECONDS_OFF:
        return Finding(
            _SUBJECT, "clock", Health.OK, f"their clocks are within {_MOST_SECONDS_OFF:.0f} s of this machine's"
        )
    return warn(
        _SUBJECT,
        "clock",
        f"the clock of {worst.host} differs from this machine's by {worst.seconds_off:,.0f} s; positions go by the source's clock, and nothing is lost, but times in logs mislead, and S3 takes nothing from a clock that is 15 minutes off",
        "have both kept by NTP",
    )


def _lake(found: Sequence[Executor], lake: str) -> Finding:
    apart = [each for each in found if each.lake]
    if not apart:
        return Finding(_SUBJECT, "lake", Health.OK, f"they reach {lake} as this machine does")
    return Finding(
        _SUBJECT,
        "lake",
        Health.FAIL,
        f"{_hosts(apart)} cannot read and write {lake} as this machine does ({apart[0].lake})",
        "have all machines mount it under the same path, for the account that runs the executors; or use a lake in a store",
    )


def _hosts(some: Sequence[Executor]) -> str:
    return f"{counted(len(some), 'executor')} on {', '.join(sorted({each.host for each in some}))}"
