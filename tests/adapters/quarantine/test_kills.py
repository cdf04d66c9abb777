"""A process that dies at any point of a commit of a quarantine leaves it as it was, or with all of it; the next run makes it right, and nothing is there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.dying import die_at, killed
from tests.adapters.quarantine.offline import Counter, Row

BAD: list[Row] = [(number, None, number) for number in range(5_000)]
MENDED: list[Row] = [(number, "fine", 9_000 + number) for number in range(0, 5_000, 5)]


def _keep_and_die(folder: Path, point: str) -> None:
    """What the process does that is killed."""
    die_at(point)
    Counter(folder).keep(2, BAD)


def _settle_and_die(folder: Path, point: str) -> None:
    die_at(point)
    Counter(folder).settle(2, MENDED)


POINTS = ("half of the data file", "the data file", "the commit, without its name", "the commit")


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_keeps_rows_is_killed_after(point: str, tmp_path: Path) -> None:
    counter = Counter(tmp_path)
    counter.keep(1, BAD[:3])
    first = [(str(number), str(number), 1, None, False) for number in range(3)]
    killed(_keep_and_die, tmp_path, point)
    kept = sorted((str(number), str(number), 2, None, False) for number in range(3, 5_000))
    landed = point == "the commit"
    assert counter.rows() == (sorted([*first, *kept]) if landed else first)
    # The next run reads the same rows, under a sequence of its own.
    counter.keep(3, BAD)
    seq = 2 if landed else 3
    assert counter.rows() == sorted([*first, *((key, at, seq, how, done) for key, at, _, how, done in kept)])


@pytest.mark.acceptance
@pytest.mark.parametrize("point", [*POINTS[:2], "the vector", *POINTS[2:]])
def test_a_process_that_resolves_rows_is_killed_after(point: str, tmp_path: Path) -> None:
    counter = Counter(tmp_path)
    counter.copy()
    counter.keep(1, BAD)
    before = counter.rows()
    killed(_settle_and_die, tmp_path, point)
    ended = {str(row[0]) for row in MENDED}
    after = [(key, at, seq, "superseded" if key in ended else None, key in ended) for key, at, seq, *_ in before]
    assert len(ended) == 1_000
    assert counter.rows() == (after if point == "the commit" else before)
    counter.settle(2, MENDED)
    assert counter.rows() == after
    versions = len(list((tmp_path / "lake").glob("_quarantine/**/_delta_log/*.json")))
    counter.settle(2, MENDED)
    assert len(list((tmp_path / "lake").glob("_quarantine/**/_delta_log/*.json"))) == versions
